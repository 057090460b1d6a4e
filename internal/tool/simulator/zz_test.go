package simulator
import ("testing";"os";"strings";"runtime/pprof")
func TestZZ(t *testing.T){ f,_:=os.Create("/tmp/simold/cpu.prof"); pprof.StartCPUProfile(f); defer pprof.StopCPUProfile(); if c:=Main(strings.Fields(os.Getenv("ARGS")), os.Stdout, os.Stderr); c!=0 {t.Fail()} }
