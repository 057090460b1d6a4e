package counter_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/counter"
)

// Environment variables of a process that is to be killed: its database, its number, and where it kills itself.
const (
	killedPlace = "COUNTER_TEST_PLACE"
	killedRound = "COUNTER_TEST_ROUND"
	killedPoint = "COUNTER_TEST_POINT"
)

// Writers in a process are killed in the middle of a transaction, after a commit, and from outside, at any time. What was answered is stored and
// counts once, and sizes are those of their sets after each kill.
func TestAKilledProcessLosesNoAnswer(t *testing.T) {
	const likers = 16
	if place := os.Getenv(killedPlace); place != "" {
		likeUntilKilled(t, place, likers)
		return
	}
	place := sqltest.Place(t)
	answered := map[id.User]bool{} // whether the last answer was that the user is a member
	for round, point := range []string{"in-transaction", "", "after-commit", "", "in-transaction", "after-commit", ""} {
		c := exec.Command(os.Args[0], "-test.run=^TestAKilledProcessLosesNoAnswer$", "-test.count=1")
		c.Env = append(os.Environ(), killedPlace+"="+place, killedRound+"="+fmt.Sprint(round), killedPoint+"="+point)
		out, err := c.StdoutPipe()
		must(t, err)
		must(t, c.Start())
		answers := 0
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var u id.User
			var is bool
			if _, err := fmt.Sscanf(lines.Text(), "answer %d %t", &u, &is); err != nil {
				continue
			}
			answered[u] = is
			if answers++; point == "" && answers == 300 {
				must(t, c.Process.Kill())
			}
		}
		if err := c.Wait(); err == nil || c.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL || answers == 0 {
			t.Fatalf("round %d, %q: the process ended with %v after %d answers", round, point, err, answers)
		}
		f := openAt(t, place, 1)
		members := map[id.User]bool{}
		for _, u := range f.users(7, 1000) {
			if members[u] {
				t.Errorf("user %d is a member twice", u)
			}
			members[u] = true
		}
		for u, is := range answered {
			if is && u%10 != 0 && !members[u] { // each tenth user's like is taken back, perhaps without an answer
				t.Errorf("round %d, %q: the like of user %d was answered, and is lost", round, point, u)
			} else if !is && members[u] {
				t.Errorf("round %d, %q: user %d is a member again", round, point, u)
			}
		}
		if n := f.count(7); n != uint64(len(members)) {
			t.Errorf("round %d, %q: counted %d of %d", round, point, n, len(members))
		}
		for _, db := range f.dbs {
			must(t, db.Close())
		}
	}
}

// likeUntilKilled adds users to a set, each once, and removes each tenth, and prints the answers.
func likeUntilKilled(t *testing.T, place string, likers int) {
	f := openAt(t, place, 1)
	point := os.Getenv(killedPoint)
	var hits atomic.Int32
	reached := func(at string) {
		if point == at && hits.Add(1) == 40 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	f.on = func(context.Context, *sql.Tx, []counter.Change) error {
		reached("in-transaction")
		return nil
	}
	var printing sync.Mutex // of whole lines
	print := func(u id.User, is bool) {
		printing.Lock()
		defer printing.Unlock()
		_, _ = os.Stdout.WriteString(fmt.Sprintf("answer %d %t\n", u, is))
	}
	var round int
	_, err := fmt.Sscan(strings.TrimSpace(os.Getenv(killedRound)), &round)
	must(t, err)
	var group sync.WaitGroup
	for n := range likers {
		group.Go(func() {
			for i := 0; ; i++ {
				u := id.User(1 + round*1_000_000 + i*likers + n)
				added, err := f.nodes[0].Add(context.Background(), counter.PostLikes, 7, u)
				if err != nil || !added {
					t.Errorf("user %d: %v, %v", u, added, err)
					return
				}
				reached("after-commit")
				print(u, true)
				if u%10 == 0 {
					if _, err := f.nodes[0].Remove(context.Background(), counter.PostLikes, 7, u); err != nil {
						t.Error(err)
						return
					}
					print(u, false)
				}
			}
		})
	}
	group.Wait()
}
