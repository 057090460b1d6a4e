package pglink

import (
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// socket takes note of the deadline that it is given.
type socket struct {
	net.Conn
	deadline time.Time
}

func (s *socket) SetDeadline(t time.Time) error      { s.deadline = t; return nil }
func (s *socket) SetReadDeadline(t time.Time) error  { s.deadline = t; return nil }
func (s *socket) SetWriteDeadline(t time.Time) error { s.deadline = t; return nil }

// TestDeadlinesAreNotOfTheWallClock: a limit that is given to a socket is by the monotonic clock, however it came there; else one that is
// given after the clock was set back would be an hour later.
func TestDeadlinesAreNotOfTheWallClock(t *testing.T) {
	config, err := pgconn.ParseConfig("postgres://127.0.0.1/records")
	if err != nil {
		t.Fatal(err)
	}
	s, l := &socket{}, &Link{fence: &Fence{busy: map[*Link]bool{}, most: 64}}
	conn := &limited{s, l}
	if l.conn, err = pgconn.Construct(&pgconn.HijackedConn{Conn: conn, Config: config}); err != nil {
		t.Fatal(err)
	}
	l.Deadline(time.Minute)
	until := s.deadline
	later := time.Now().Add(time.Hour)
	for name, set := range map[string]func() error{
		"at once":              func() error { l.Deadline(time.Minute); until = s.deadline; return nil },
		"of a read":            func() error { return conn.SetReadDeadline(later) },
		"of a write":           func() error { return conn.SetWriteDeadline(time.Time{}) },
		"of both":              func() error { return conn.SetDeadline(later) },
		"when it is looked at": func() error { l.gone(); return nil },
	} {
		if err := set(); err != nil {
			t.Error(err)
		}
		if s.deadline == s.deadline.Round(0) || s.deadline != until { // Round(0) takes the monotonic clock away
			t.Errorf("%s: the deadline is %v; want %v", name, s.deadline, until)
		}
		s.deadline = time.Time{}
	}
	// A shorter one is kept, and without a limit all are.
	sooner := time.Now().Add(time.Second)
	if err := conn.SetReadDeadline(sooner); err != nil || s.deadline != sooner {
		t.Errorf("a shorter deadline is %v (%v)", s.deadline, err)
	}
	l.Deadline(0)
	if !s.deadline.IsZero() {
		t.Errorf("a limit that was taken back is %v", s.deadline)
	}
	if err := conn.SetReadDeadline(later); err != nil || s.deadline != later {
		t.Errorf("without a limit the deadline is %v (%v)", s.deadline, err)
	}
}
