package bench

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A connection that the server refuses for a time is tried again after that time, for a while; one that it refuses for good is not.
func TestIdleConnectionsAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, began := 0, time.Now()
		busy := &lostError{cause: errors.New("busy"), retry: 5 * time.Second}
		c, err := openPatiently(t.Context(), func() (connection, error) {
			if tries++; tries < 4 {
				return nil, busy
			}
			return &socket{}, nil
		})
		if err != nil || c == nil || tries != 4 || time.Since(began) < 15*time.Second {
			t.Errorf("after %d tries in %v there is %v (%v), want one after 4 tries in 15 s", tries, time.Since(began), c, err)
		}
		wrong := errors.New("a wrong token")
		tries = 0
		if _, err := openPatiently(t.Context(), func() (connection, error) { tries++; return nil, wrong }); !errors.Is(err, wrong) || tries != 1 {
			t.Errorf("what is refused for good was tried %d times (%v)", tries, err)
		}
		began = time.Now()
		if _, err := openPatiently(t.Context(), func() (connection, error) { return nil, busy }); !errors.Is(err, busy) || time.Since(began) < idlePatience {
			t.Errorf("a server that stays busy is given up after %v (%v), want %v", time.Since(began), err, idlePatience)
		}
	})
}
