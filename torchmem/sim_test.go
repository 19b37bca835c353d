package torchmem
import "testing"
func TestQ(t *testing.T){
 recs:=recordings(t)
 var q *Requests
 for _,r:=range recs { if r.name=="unet_0" { q=r.replay(t).Requests() } }
 for _,r:=range recs {
  var peak int64
  for _,p:=range r.Truth { peak=max(peak,p.PeakResv) }
  cfg,err:=ParseConfig(r.Conf); if err!=nil {t.Fatal(err)}
  own:=r.replay(t).Requests()
  a:=own.SimulateOrders(cfg,SimOptions{})
  s:=r.read(t)
  same:=len(s.Segments)==len(a.Final)
  m:=map[uint64]int64{}
  for _,g:=range a.Final {m[g.Addr]=g.Size}
  diff:=0
  for _,g:=range s.Segments { if m[g.Addr]!=g.Size {diff++} }
  t.Logf("%s %q own: %d want %d range %v mallocs %d (%d) same %v diff %d",r.name,r.Conf,a.PeakReserved-peak,peak,a.ReservedRange,a.CUDAMallocs,r.Stats["num_device_alloc"],same,diff)
  if r.name[:5]=="unet_" {
   b:=q.SimulateOrders(cfg,SimOptions{})
   t.Logf("   from unet_0: %d range %d %d  allocpeak %d gap %d", b.PeakReserved-peak,b.ReservedRange[0]-peak,b.ReservedRange[1]-peak,b.PeakAllocated,b.LargestGap)
  }
 }
}
