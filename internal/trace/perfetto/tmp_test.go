package perfetto
import ("testing";"os";"time";"golnx/internal/trace")
func TestTmp(t *testing.T){ d:=os.Getenv("DIR"); if d=="" {t.Skip()}; b:=time.Now(); r,err:=trace.Open(d); if err!=nil{t.Fatal(err)}
 f,_:=os.Create(d+"/../x.json"); err=Write(t.Context(),r,f,nil); t.Log(err,time.Since(b)); st,_:=f.Stat(); t.Log(st.Size()) }
