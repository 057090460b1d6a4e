package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// At a stop, connections are drained one after the other over the configured time, without a retry delay, and each is served until its turn.
// If the configured time exceeds longestDrain, clients are asked to wait for the remainder.
func TestDrainServesConnectionsUntilTheirTurn(t *testing.T) {
	const many = 5000
	for _, over := range []time.Duration{5 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			first, _ := bench(t)
			s := first.server
			s.config.DrainOver = over
			var list []*conn
			for range many {
				c := &conn{server: s, transport: discarding{}, frameAt: -1, fd: -1, caller: first.caller}
				c.state = stateReady
				s.stats.Connections.Add(1)
				s.wheel.schedule(c, s.now.Load()+1000)
				list = append(list, c)
			}
			began, ended := time.Now(), make(chan struct{})
			go func() {
				s.drain(nil)
				close(ended)
			}()
			within := min(over, longestDrain)
			time.Sleep(within / 2)
			synctest.Wait()
			told, away := 0, 0
			for _, c := range list {
				for _, f := range sent(t, c) {
					if told++; f.Bye == nil || f.Bye.Code != closeDrain {
						t.Fatalf("unexpected frame %v", f)
					}
					if f.Bye.RetryMs > 0 {
						away++
					}
				}
				c.sendAnswer(1, opBinary, must(proto.Marshal(&gatewayv1.ServerFrame{Request: 1, Pong: &gatewayv1.Pong{}})))
				served := sent(t, c)
				c.mu.Lock() // the rest of them are drained later
				closing := c.isEnding()
				c.mu.Unlock()
				if (len(served) == 1) == closing {
					t.Fatalf("closing %v; the connection was sent %v", closing, served)
				}
			}
			if told < many/3 || told > 2*many/3 {
				t.Errorf("halfway through %v, %d of %d connections are drained", over, told, many)
			}
			if beyond := over > longestDrain; beyond != (away > 0) {
				t.Errorf("over %v, %d of %d clients are asked to wait", over, away, told)
			}
			<-ended
			if took := time.Since(began); took > within+time.Second {
				t.Errorf("it took %v", took)
			}
			for _, c := range list {
				if !c.isEnding() {
					t.Fatal("a connection was not drained")
				}
			}
		})
	}
}

func must[T any](b T, err error) T {
	if err != nil {
		panic(err)
	}
	return b
}
