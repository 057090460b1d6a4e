package datadir

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// TestAFailedPageCheckIsNoDamage: it is repeated until it succeeds, or is given up with an error in the log. The server goes on.
func TestAFailedPageCheckIsNoDamage(t *testing.T) {
	for name, test := range map[string]struct {
		failures, attempts int
		found              []string // afterwards
		errors             int
	}{
		"one failure":             {1, 2, nil, 0},
		"one, and then a finding": {1, 2, []string{"table people: page 7"}, 1},
		"failures":                {maxPageChecks, maxPageChecks, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				attempts := 0
				s := &Stores{dir: t.TempDir(), logger: slog.New(slog.NewTextHandler(&log, nil)), damage: make(chan struct{}), pages: func(context.Context) ([]string, error) {
					if attempts++; attempts <= test.failures {
						return nil, unix.EMFILE
					}
					return test.found, nil
				}}
				s.checkPages(t.Context())
				if damaged := len(test.found) > 0; attempts != test.attempts || (s.Damaged() != "") != damaged || exists(filepath.Join(s.dir, DamageFile)) != damaged {
					t.Errorf("after %d checks the damage is %q", attempts, s.Damaged())
				}
				if got := strings.Count(log.String(), "level=ERROR"); got != test.errors || strings.Count(log.String(), unix.EMFILE.Error()) != test.failures {
					t.Errorf("%d errors were logged:\n%s", got, &log)
				}
			})
		})
	}
}

// TestAStopEndsTheRepeatedPageCheck at once.
func TestAStopEndsTheRepeatedPageCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &Stores{logger: quiet(), pages: func(context.Context) ([]string, error) { return nil, unix.EMFILE }}
		ended, began := make(chan struct{}), time.Now()
		go func() {
			defer close(ended)
			s.checkPages(ctx)
		}()
		synctest.Wait() // it waits for the next attempt
		cancel()
		<-ended
		if time.Since(began) != 0 {
			t.Errorf("it ended after %v", time.Since(began))
		}
	})
}

// TestDamageEndsARunningPageCheck: damage that a statement meets ends the check, and then Run.
func TestDamageEndsARunningPageCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled, goOn, ended := false, make(chan struct{}), make(chan error, 1)
		s := &Stores{dir: t.TempDir(), logger: quiet(), damage: make(chan struct{}), pages: func(ctx context.Context) ([]string, error) {
			<-ctx.Done()
			cancelled = true
			<-goOn
			return nil, ctx.Err()
		}}
		go func() { ended <- s.Run(t.Context()) }()
		synctest.Wait()
		s.pageDamaged(errors.New("page 7 does not match its checksum"))
		synctest.Wait()
		if !cancelled {
			t.Error("the check continues")
		}
		select {
		case err := <-ended:
			t.Errorf("Run ended before the check, with %v", err)
		default:
			close(goOn)
			endsDamaged(t, s.dir, <-ended)
		}
	})
}
