package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	rialto "github.com/rialto-im/rialto/sdk/go"
)

// awayResult of holding connections while nodes come and go.
type awayResult struct {
	Clients  int     `json:"clients"`
	Lost     int     `json:"lost"`
	Away     int     `json:"still_away"`
	MedianMs float64 `json:"away_p50_ms"`
	P99Ms    float64 `json:"away_p99_ms"`
	MaxMs    float64 `json:"away_max_ms"`
}

func awayMain(args []string, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("rialto bench away", flag.ContinueOnError)
	fs.SetOutput(errOut)
	url := fs.String("url", "http://127.0.0.1:7070", "the deployment's `URL`, or those of its nodes, separated by commas: each call and connection goes to one by chance")
	key := fs.String("api-key", "", "API `key`, to make users faster than by registering")
	clients := fs.Int("clients", 300, "`number` of clients, each of a user of its own")
	hold := fs.Duration("for", time.Minute, "how long to hold them; stop or kill a node meanwhile")
	asJSON := fs.Bool("json", false, "print the result as JSON")
	if code, ok := parse(fs, args); !ok {
		return code
	}
	if *clients < 1 || fs.NArg() > 0 {
		fmt.Fprintln(errOut, "rialto bench away: --clients is at least 1, and there are no arguments")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	d := newDeployment(*url, *key, progressTo(errOut))
	r, err := d.away(ctx, *clients, *hold)
	return report(out, errOut, r, err, *asJSON, func() {
		fmt.Fprintf(out, "%d of %d clients lost their connection; they were away for %.0f ms (half of them), %.0f ms (99 of 100), %.0f ms (the last), and %d still are\n",
			r.Lost, r.Clients, r.MedianMs, r.P99Ms, r.MaxMs, r.Away)
	})
}

// absences are the times for which clients had no connection.
type absences struct {
	mu    sync.Mutex // guards all
	since map[int]time.Time
	up    map[int]bool
	took  []time.Duration
}

func (a *absences) heard(client int, online bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	lost, away := a.since[client]
	switch {
	case !online && a.up[client]:
		a.since[client] = time.Now()
	case online && away:
		a.took = append(a.took, time.Since(lost))
		delete(a.since, client)
	}
	a.up[client] = online
}

// online clients.
func (a *absences) online() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, up := range a.up {
		if up {
			n++
		}
	}
	return n
}

// away holds clients of the SDK, which come back by themselves.
func (d *deployment) away(ctx context.Context, clients int, hold time.Duration) (*awayResult, error) {
	d.progress("making %d users", clients)
	users, err := d.users(ctx, clients, 1)
	if err != nil {
		return nil, err
	}
	a := &absences{since: map[int]time.Time{}, up: map[int]bool{}}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	hosts, err := d.hosts()
	if err != nil {
		return nil, err
	}
	for i := range clients {
		c, err := rialto.New(rialto.Config{URL: d.doors[0].url, HTTP: &http.Client{Transport: byChance{hosts}, Timeout: 30 * time.Second}, Handler: func(e rialto.Event) {
			if e.Online != nil {
				a.heard(i, *e.Online)
			}
		}})
		if err != nil {
			return nil, err
		}
		if err := c.Adopt(users[i].sessions[0]); err != nil {
			return nil, err
		}
		running.Go(func() { _ = c.Run(ctx) }) // it ends with ctx, or is away at the end
	}
	for end := time.Now().Add(time.Minute); a.online() < clients; pause(ctx, 100*time.Millisecond) {
		if ctx.Err() != nil || time.Now().After(end) {
			return nil, fmt.Errorf("%d of %d clients could not connect", clients-a.online(), clients)
		}
	}
	d.progress("%d clients are connected; stop or kill a node in the next %v", clients, hold)
	pause(ctx, hold)
	if ctx.Err() != nil {
		return nil, errors.New("it was stopped")
	}
	return a.result(clients), nil
}

func (a *absences) result(clients int) *awayResult {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := &awayResult{Clients: clients, Lost: len(a.took) + len(a.since), Away: len(a.since)}
	slices.Sort(a.took)
	if n := len(a.took); n > 0 {
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		r.MedianMs, r.P99Ms, r.MaxMs = ms(a.took[n/2]), ms(a.took[n*99/100]), ms(a.took[n-1])
	}
	return r
}

// hosts of the deployment's addresses.
func (d *deployment) hosts() (list []string, err error) {
	for _, door := range d.doors {
		u, err := neturl.Parse(door.url)
		if err != nil {
			return nil, err
		}
		list = append(list, u.Host)
	}
	return list, nil
}

// byChance sends each request to one of some hosts, and where none listens to the next, as a load balancer would.
type byChance struct{ hosts []string }

// RoundTrip asks one of them.
func (b byChance) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	for _, i := range rand.Perm(len(b.hosts)) {
		to := r.Clone(r.Context())
		to.URL.Host = b.hosts[i]
		if answer, err = http.DefaultTransport.RoundTrip(to); !dialFailed(err) {
			break
		}
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
	return answer, err
}

func dialFailed(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && op.Op == "dial"
}
