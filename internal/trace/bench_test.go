package trace
import ("testing";"os";"time")
func TestTmp(t *testing.T){ d:=os.Getenv("DIR"); if d=="" {t.Skip()}; b:=time.Now(); r,err:=Open(d); if err!=nil{t.Fatal(err)}
 rows,err:=r.Summarise(t.Context(),nil,false); t.Log(err,len(rows),time.Since(b)); b=time.Now()
 a,err:=r.Analyse(t.Context(),nil,Limits{}); t.Log(err,time.Since(b)); t.Log(a.Ops,len(a.Points),a.Line.Bins(),a.Line.Width(),len(a.Counters),a.ByRank.Cells,a.ByNIC,r.Notes())
 for _,x:=range a.Summary{t.Log(x.Path,x.Op,x.Count,x.Bytes,x.Percentile(50),x.Percentile(99),x.Max,x.Failed)}
 for _,x:=range a.Rails{t.Log(x.Name,x.Ops,x.Bytes)}
}
