package pglink

import (
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// socket records the deadline that it is given.
type socket struct {
	net.Conn
	deadline time.Time
}

func (s *socket) SetDeadline(t time.Time) error      { s.deadline = t; return nil }
func (s *socket) SetReadDeadline(t time.Time) error  { s.deadline = t; return nil }
func (s *socket) SetWriteDeadline(t time.Time) error { s.deadline = t; return nil }

// Deadlines of a socket use the monotonic clock, however they were set. Otherwise, after the wall clock is set back by an hour, they
// would be an hour late.
func TestDeadlinesAreMonotonic(t *testing.T) {
	config, err := pgconn.ParseConfig("postgres://127.0.0.1/records")
	if err != nil {
		t.Fatal(err)
	}
	s, l := &socket{}, &Link{fence: &Fence{limitedLinks: map[*Link]bool{}, sweepAt: 64}}
	conn := &deadlineConn{s, l}
	if l.conn, err = pgconn.Construct(&pgconn.HijackedConn{Conn: conn, Config: config}); err != nil {
		t.Fatal(err)
	}
	l.Deadline(time.Minute)
	until := s.deadline
	later := time.Now().Add(time.Hour)
	for name, set := range map[string]func() error{
		"immediately":        func() error { l.Deadline(time.Minute); until = s.deadline; return nil },
		"of a read":          func() error { return conn.SetReadDeadline(later) },
		"of a write":         func() error { return conn.SetWriteDeadline(time.Time{}) },
		"of both":            func() error { return conn.SetDeadline(later) },
		"when it is checked": func() error { l.isClosed(); return nil },
	} {
		if err := set(); err != nil {
			t.Error(err)
		}
		if s.deadline == s.deadline.Round(0) || s.deadline != until { // Round(0) removes the monotonic clock
			t.Errorf("deadline %s: got %v, want %v", name, s.deadline, until)
		}
		s.deadline = time.Time{}
	}
	// An earlier deadline is kept; without a limit, all are.
	sooner := time.Now().Add(time.Second)
	if err := conn.SetReadDeadline(sooner); err != nil || s.deadline != sooner {
		t.Errorf("an earlier deadline: got %v (%v)", s.deadline, err)
	}
	l.Deadline(0)
	if !s.deadline.IsZero() {
		t.Errorf("after removing the limit: got deadline %v", s.deadline)
	}
	if err := conn.SetReadDeadline(later); err != nil || s.deadline != later {
		t.Errorf("a deadline without a limit: got %v (%v)", s.deadline, err)
	}
}
