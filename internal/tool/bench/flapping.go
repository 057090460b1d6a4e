package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/proto"
)

// Flapping users show what presence costs: their connections break and come back, and each time they are away and active again, while the
// users of the pairs watch them and chat. The pairs chat before that, too, so that the two rates are measured in one run.

const (
	// maxWatched is the largest number of users in one watch.
	maxWatched = 500
	// watchTime bounds how long the watchers wait for the presences of all flapping users.
	watchTime = time.Minute
	// maxFlapping leaves file descriptors for the pairs.
	maxFlapping = 50_000
)

// flappingResult compares the load beside flapping users with the load before them.
type flappingResult struct {
	Users int `json:"users"`
	// Breaks of connections, and changes of presence that the watchers were told.
	Breaks    uint64  `json:"breaks"`
	Presences uint64  `json:"presences"`
	Before    float64 `json:"acked_per_s_before"`
	// Ratio of the rate beside them to the rate before.
	Ratio  float64 `json:"acked_ratio"`
	Passed bool    `json:"passed"`
}

func (f *flappingResult) print(out io.Writer) {
	fmt.Fprintf(out, "flapping      %d users, %d broken connections, %d presences told: %.2f of the %.0f acknowledged/s before\n", f.Users, f.Breaks, f.Presences, f.Ratio, f.Before)
}

// measureBaseline measures the load without flapping users and streams; nil without --flapping and --streams.
func (l *load) measureBaseline(ctx context.Context) (*result, error) {
	if l.config.flapping == 0 && l.config.streams == 0 {
		return nil, nil
	}
	c := l.config
	c.flapping, c.streams = 0, 0
	o := &load{config: c, deploy: newDeployment(c.url, c.key, l.deploy.printer)}
	if err := o.prepareAll(ctx); err != nil {
		return nil, err
	}
	return o.measure(ctx)
}

// flapper is a user whose connection breaks and comes back. Nothing is read from it after its Hello; a server sends it only the answers to pings.
type flapper struct {
	user *user
	from net.IP
	sock *socket
	away bool
}

// measureFlapping measures the pairs beside flapping users. Its clients are connected.
func (l *load) measureFlapping(ctx context.Context, baseline *result) (*result, error) {
	flappers, err := l.newFlappers(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, f := range flappers {
			f.close()
		}
	}()
	if err := l.watchFlappers(flappers); err != nil {
		return nil, err
	}
	told, err := l.awaitPresences(ctx, uint64(len(flappers)))
	if err != nil {
		return nil, err
	}
	flapping, stop := context.WithCancel(ctx)
	defer stop()
	var breaks atomic.Uint64
	var failed error
	done := make(chan struct{})
	go func() { // ends with the measurement
		defer close(done)
		failed = l.flap(flapping, flappers, &breaks)
	}()
	r, err := l.measure(ctx)
	stop()
	<-done
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	f := &flappingResult{Users: len(flappers), Breaks: breaks.Load(), Before: baseline.AckedPerS, Presences: l.presences() - told, Passed: baseline.passed()}
	if f.Before > 0 {
		f.Ratio = r.AckedPerS / f.Before
	}
	r.Flapping = f
	return r, nil
}

// newFlappers creates and connects the users, whom everyone may see.
func (l *load) newFlappers(ctx context.Context) ([]*flapper, error) {
	d := newDeployment(l.config.url, l.config.key, l.deploy.printer)
	users, err := d.users(ctx, l.config.flapping, 1)
	if err != nil {
		return nil, err
	}
	list := make([]*flapper, len(users))
	d.progress("opening %d connections that will break", len(users))
	err = each(ctx, len(users), 32, func(ctx context.Context, i int) error {
		settings := &accountv1.Settings{WhoMaySeePresence: accountv1.WhoMaySee_WHO_MAY_SEE_EVERYONE}
		if _, err := users[i].endpoint.accounts.UpdateSettings(ctx, as(users[i].sessions[0].AccessToken, &accountv1.UpdateSettingsRequest{Settings: settings})); err != nil {
			return fmt.Errorf("showing a user's presence to everyone: %w", err)
		}
		list[i] = &flapper{user: users[i], from: net.IPv4(127, 0, 1, byte(1+i/20_000))}
		return list[i].connect(ctx)
	})
	return list, err
}

func (f *flapper) connect(ctx context.Context) error {
	sock, err := dial(ctx, f.user.endpoint.url, f.user.sessions[0].AccessToken, f.from, 256)
	if err != nil {
		return err
	}
	if _, err = readHello(sock); err != nil {
		_ = sock.net.Close() // the first error is reported
		return err
	}
	f.sock = sock
	return nil
}

func (f *flapper) close() {
	if f != nil && f.sock != nil {
		_ = f.sock.net.Close() // it may be closed already
		f.sock = nil
	}
}

// watchFlappers has the users of the pairs watch the flapping users, each one's presence by one of them.
func (l *load) watchFlappers(flappers []*flapper) error {
	watched := make([][]uint64, len(l.clients))
	for i, f := range flappers {
		watched[i%len(watched)] = append(watched[i%len(watched)], f.user.id)
	}
	for i, c := range l.clients {
		if err := c.writeFrame(&gatewayv1.ClientFrame{Request: uint64(i) + 2, Watch: &gatewayv1.Watch{Users: watched[i]}}); err != nil {
			return err
		}
	}
	return nil
}

// presences returns how many presences the watchers have been told.
func (l *load) presences() (told uint64) {
	for _, c := range l.clients {
		told += c.presences.Load()
	}
	return told
}

// awaitPresences waits until the watchers have the answers to their watches: these are asked for once, and are no part of what breaks cost.
func (l *load) awaitPresences(ctx context.Context, watched uint64) (told uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, watchTime)
	defer cancel()
	for told = l.presences(); told < watched; told = l.presences() {
		if err := cmp.Or(l.failure(), backoff.Sleep(ctx, 10*time.Millisecond)); err != nil {
			return told, fmt.Errorf("%d of %d watched users are told: %w", told, watched, err)
		}
	}
	return told, nil
}

// flap breaks the connections one after the other until ctx ends, each once in --flap-every, and keeps the others alive. A user whose
// connection came back says that it is away, or active again, so that the watcher is told each time.
func (l *load) flap(ctx context.Context, flappers []*flapper, breaks *atomic.Uint64) error {
	breaking, pinging := rotation{every: l.config.flapEvery}, rotation{every: silence / 3}
	for start := time.Now(); ctx.Err() == nil; _ = backoff.Sleep(ctx, time.Millisecond) {
		since := time.Since(start)
		for _, f := range pinging.due(flappers, since) {
			if err := f.write(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}}); err != nil {
				return fmt.Errorf("a flapping user lost a connection: %w", err)
			}
		}
		due := breaking.due(flappers, since)
		err := each(ctx, len(due), 8, func(ctx context.Context, i int) error { return due[i].flap(ctx) })
		switch {
		case ctx.Err() != nil:
		case err != nil:
			return fmt.Errorf("a flapping user cannot connect: %w", err)
		default:
			breaks.Add(uint64(len(due)))
		}
	}
	return nil
}

// rotation visits users one after the other, each once in a period.
type rotation struct {
	every time.Duration
	next  int
}

// due returns the users to visit by now, at most 64. since is the time since the start.
func (r *rotation) due(all []*flapper, since time.Duration) (list []*flapper) {
	for gap := r.every / time.Duration(len(all)); len(list) < 64 && time.Duration(r.next)*gap <= since; r.next++ {
		list = append(list, all[r.next%len(all)])
	}
	return list
}

// flap breaks the connection without a goodbye, and opens another.
func (f *flapper) flap(ctx context.Context) error {
	f.close()
	if err := f.connect(ctx); err != nil {
		return err
	}
	f.away = !f.away
	activity := presencev1.Activity_ACTIVITY_ACTIVE
	if f.away {
		activity = presencev1.Activity_ACTIVITY_AWAY
	}
	return f.write(&gatewayv1.ClientFrame{Activity: activity})
}

func (f *flapper) write(frame *gatewayv1.ClientFrame) error {
	b, err := proto.Marshal(frame)
	if err != nil {
		return err
	}
	return f.sock.write(b)
}
