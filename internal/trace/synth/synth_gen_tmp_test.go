package synth
import ("testing";"os";"time";"strconv")
func TestGen(t *testing.T){ d:=os.Getenv("OUT"); if d=="" {t.Skip()}; os.MkdirAll(d,0755); n,_:=strconv.Atoi(os.Getenv("N")); b:=time.Now(); if err:=Write(d,Config{Ops:n}); err!=nil{t.Fatal(err)}; t.Log(time.Since(b))}
