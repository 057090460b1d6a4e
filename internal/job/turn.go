package job

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"strconv"
	"sync/atomic"
	"time"
)

// Where several nodes share an outbox, one of them carries, so that a user's events come in their order. Which one, the cluster says:
// Begin and End. Since that is told at any time, also in the middle of a step, a row says whose step may be under way: who comes next waits
// until the one before has come to its end, or does not live any more.
//
// A node that was taken for dead and was only paused goes on in the middle of a step, and hands over what others have handed over since,
// and later events behind it. So the row has a term, which rises when the turn is taken and when a step ends, in the transaction that
// forgets what it handed over. Each event names the term (Event.Turn), and who stores it asks whether that lasts (Lasts).

const (
	takeEvery = 50 * time.Millisecond // so often the next one looks whether the one before has ended
	lookOften = 500 * time.Millisecond
	hintEvery = 10 * time.Millisecond // wake-ups gather for so long before another node is told
	leaveTime = 5 * time.Second       // that a step may go on for when the node stops
)

// Turn is a node's place among those that share an outbox.
type Turn struct {
	node      string
	alive     func(node string) bool
	elsewhere func()
	token     string // of this process

	// Of RunInTurn's goroutine alone:
	owes bool  // the row may be this process's
	term int64 // of the step at hand

	on      atomic.Bool
	changed chan struct{}
	heard   chan struct{}
}

// NewTurn of a node. alive tells whether a node lives, elsewhere tells the others that there are events (Heard), which may be lost; it may
// be nil. Neither may block.
func NewTurn(node string, alive func(node string) bool, elsewhere func()) *Turn {
	if elsewhere == nil {
		elsewhere = func() {}
	}
	return &Turn{node: node, alive: alive, elsewhere: elsewhere, token: rand.Text(), changed: make(chan struct{}, 1), heard: make(chan struct{}, 1)}
}

// Begin is called when it is this node's turn, End when it is no longer. They are made for cluster.Work with one part.
func (t *Turn) Begin(int) { t.set(true) }

// End of the turn. A step that is under way comes to its end.
func (t *Turn) End(int) { t.set(false) }

func (t *Turn) set(on bool) {
	t.on.Store(on)
	poke(t.changed)
}

// Heard is told that another node has put events.
func (t *Turn) Heard() { poke(t.heard) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// RunInTurn is Run for one of several nodes.
func (o *Outbox) RunInTurn(ctx context.Context, t *Turn, carry func(context.Context, []Event) error) error {
	wait := retryFirst
	for ctx.Err() == nil {
		if t.on.Load() {
			o.turn(ctx, t, carry)
			wait = retryFirst
			continue
		}
		if t.owes { // nobody carries before it is given up: the others wait for this node as long as it lives
			sleep(ctx, t.changed, wait)
			wait = min(2*wait, retryMost)
			if !t.on.Load() {
				o.leave(ctx, t)
			}
			continue
		}
		select {
		case <-o.wake:
			t.elsewhere()
			sleep(ctx, t.changed, hintEvery)
		case <-t.heard: // by the one whose turn it is
		case <-t.changed:
		case <-ctx.Done():
		}
	}
	return nil
}

// turn carries while it is this node's turn.
func (o *Outbox) turn(ctx context.Context, t *Turn, carry func(context.Context, []Event) error) {
	// A step is not cut off by the end of ctx at once: what is handed over half would come again, behind what comes next.
	under, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(leaveTime, cancel) })()
	wait, taken := retryFirst, false
	for t.on.Load() && ctx.Err() == nil {
		n, err := 0, error(nil)
		if !taken {
			t.owes = true // whether or not it is known to be stored
			taken, err = o.take(under, t)
		}
		if taken && err == nil {
			n, err = o.stepOf(under, t, carry)
		}
		switch {
		case errors.Is(err, errTaken):
			taken = false
		case err != nil && under.Err() != nil: // cut off in the middle: the row stays this node's until it is gone
			return
		case err != nil:
			taken = false // in a new term: what is on its way may come late, or the end of the step may be stored
			o.logger.Warn("events wait in the outbox", "error", err)
			sleep(ctx, nil, wait)
			wait = min(2*wait, retryMost)
		case !taken:
			sleep(ctx, t.changed, takeEvery)
		case n == 0:
			wait = retryFirst
			o.idle(ctx, t)
		}
	}
	if t.owes {
		o.leave(ctx, t)
	}
}

// leave gives the row up, also when ctx ends.
func (o *Outbox) leave(ctx context.Context, t *Turn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if err := o.giveUp(ctx, t); err != nil {
		o.logger.Warn("who carries the outbox next waits until this node can say that it has ended, or is gone", "error", err)
		return
	}
	t.owes = false
}

// idle until there may be events.
func (o *Outbox) idle(ctx context.Context, t *Turn) {
	timer := time.NewTimer(lookOften)
	defer timer.Stop()
	select {
	case <-o.wake:
	case <-t.heard:
	case <-t.changed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

var errTaken = errors.New("another node carries")

// stepOf is step, for the one whose row it is.
func (o *Outbox) stepOf(ctx context.Context, t *Turn, carry func(context.Context, []Event) error) (int, error) {
	turn := turnOf(t.token, t.term)
	n, err := o.step(ctx, func(ctx context.Context, events []Event) error {
		if lasts, err := o.Lasts(ctx, turn); err != nil || !lasts {
			return cmp.Or(err, errTaken)
		}
		for i := range events {
			events[i].Turn = turn
		}
		return carry(ctx, events)
	}, func(ctx context.Context, tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE outbox_turn SET term = term + 1 WHERE token = $1 AND term = $2`, t.token, t.term)
		if err != nil {
			return err
		}
		if ended, err := done.RowsAffected(); err != nil || ended != 1 {
			return cmp.Or(err, errTaken)
		}
		return nil
	})
	if err == nil && n > 0 {
		t.term++
	}
	return n, err
}

func turnOf(token string, term int64) string { return token + "." + strconv.FormatInt(term, 10) }

// Lasts tells whether the step of an Event's Turn may still be under way: nobody has handed over anything later. Who stores events asks
// after the moment from which nobody else can have stored anything in their place: then what is stored is never older than what is there.
func (o *Outbox) Lasts(ctx context.Context, turn string) (bool, error) {
	var token string
	var term int64
	err := o.db.Read().QueryRowContext(ctx, `SELECT token, term FROM outbox_turn`).Scan(&token, &term)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return turnOf(token, term) == turn, err
}

// take makes the row this process's, unless another node that lives may still be in a step. A process of this node's name that had it is
// gone.
func (o *Outbox) take(ctx context.Context, t *Turn) (taken bool, err error) {
	err = o.db.Write(ctx, func(tx *sql.Tx) error {
		taken = false
		var node, token string
		err := tx.QueryRowContext(ctx, `SELECT node, token FROM outbox_turn`).Scan(&node, &token)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if node != "" && node != t.node && t.alive(node) {
			return nil
		}
		taken = true
		return tx.QueryRowContext(ctx, `INSERT INTO outbox_turn (one, node, token, term) VALUES (1, $1, $2, 1)
			ON CONFLICT (one) DO UPDATE SET node = $1, token = $2, term = outbox_turn.term + 1 RETURNING term`, t.node, t.token).Scan(&t.term)
	})
	return taken && err == nil, err
}

// giveUp of a row that may be this process's. It can be called again.
func (o *Outbox) giveUp(ctx context.Context, t *Turn) error {
	return o.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE outbox_turn SET node = '', token = '' WHERE token = $1`, t.token)
		return err
	})
}
