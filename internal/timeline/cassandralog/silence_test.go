package cassandralog

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// inTurn is a policy that gives the same nodes in the same order each time.
type inTurn struct {
	gocql.HostSelectionPolicy
	hosts []*gocql.HostInfo
}

type plain struct{ h *gocql.HostInfo }

func (p plain) Info() *gocql.HostInfo { return p.h }
func (p plain) Mark(error)            {}

func (p inTurn) Pick(gocql.ExecutableStatement) gocql.NextHost {
	n := 0
	return func() gocql.SelectedHost {
		if n++; n > len(p.hosts) {
			return nil
		}
		return plain{p.hosts[n-1]}
	}
}

// TestASilentNodeIsAskedLast: one that did not answer is asked behind the others; after a while one statement tries it; when that is
// answered, all do; and where nobody answers, all are still asked.
func TestASilentNodeIsAskedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := inTurn{hosts: []*gocql.HostInfo{{}, {}, {}}}
		s := newShunning(base)
		order := func() (picked []gocql.SelectedHost, text string) {
			next := s.Pick(nil)
			for h := next(); h != nil; h = next() {
				picked = append(picked, h)
				for i := range base.hosts {
					if base.hosts[i] == h.Info() {
						text += fmt.Sprint(i)
					}
				}
			}
			if next() != nil {
				t.Error("a node after the last")
			}
			return picked, text
		}
		expect := func(want string) []gocql.SelectedHost {
			t.Helper()
			picked, got := order()
			if got != want {
				t.Errorf("they are asked in the order %s, want %s", got, want)
			}
			return picked
		}
		first := expect("012")[0]
		late := expect("012")[0]
		first.Mark(errors.New("refused"))
		expect("012")
		first.Mark(gocql.ErrTimeoutNoResponse)
		expect("120")
		time.Sleep(answersIn)
		late.Mark(nil) // an answer, or an end, that took too long to say anything
		expect("120")
		time.Sleep(shunFor)
		try := expect("012")[0] // one tries it
		expect("120")
		time.Sleep(answersIn)
		try.Mark(gocql.ErrTimeoutNoResponse)
		time.Sleep(shunFor - 1)
		expect("120")
		time.Sleep(time.Nanosecond)
		try = expect("012")[0]
		expect("120")
		try.Mark(nil)
		for _, h := range expect("012") {
			h.Mark(gocql.ErrTimeoutNoResponse)
		}
		expect("012")
	})
}
