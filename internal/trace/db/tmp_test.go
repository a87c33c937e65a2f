package db
import ("testing";"os";"time";"golnx/internal/trace")
func TestTmp(t *testing.T){ d:=os.Getenv("DIR"); if d=="" {t.Skip()}; b:=time.Now(); r,err:=trace.Open(d); if err!=nil{t.Fatal(err)}
 os.Remove(d+"/../x.db"); err=Write(t.Context(),r,d+"/../x.db",nil); t.Log(err,time.Since(b)); st,_:=os.Stat(d+"/../x.db"); t.Log(st.Size()) }
