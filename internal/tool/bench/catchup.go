package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/base/progress"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// catchupResult of a device that was offline. Times are medians of the rounds.
type catchupResult struct {
	Events int `json:"events"`
	Bytes  int `json:"bytes"` // of all pages
	Pages  int `json:"pages"`
	// CatchupMS is the time from the first request to the last byte of the last page.
	CatchupMS float64 `json:"catchup_ms"`
	// ReferenceMS is the time to read the same bytes, in as many records, from a Pebble in this process, and to send them over loopback.
	ReferenceMS float64 `json:"reference_ms,omitempty"`
}

func catchupMain(args []string, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("rialto bench catchup", flag.ContinueOnError)
	fs.SetOutput(errOut)
	url := fs.String("url", "http://127.0.0.1:7070", "the deployment's `URL`")
	count := fs.Int("events", 50_000, "`number` of messages that the device has missed")
	rounds := fs.Int("rounds", 5, "number of catch-ups, and of reference measurements")
	data := fs.String("data", "", "`directory` on the disk for the reference measurement, whose files are removed; without it there is no reference")
	asJSON := fs.Bool("json", false, "print the result as JSON")
	if code, ok := parse(fs, args); !ok {
		return code
	}
	if *count < 1 || *count > 1_000_000 || *rounds < 1 || fs.NArg() > 0 {
		fmt.Fprintln(errOut, "rialto bench catchup: --events must be 1 to 1,000,000 and --rounds at least 1, without arguments")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	d := newDeployment(*url, "", progress.New(errOut))
	r, err := d.catchup(ctx, *count, *rounds, *data)
	return report(out, errOut, r, err, *asJSON, func() {
		fmt.Fprintf(out, "%d events in %d pages, %d bytes: %.0f ms", r.Events, r.Pages, r.Bytes, r.CatchupMS)
		if r.ReferenceMS > 0 {
			fmt.Fprintf(out, "; the same from Pebble alone: %.0f ms (ratio %.2f)", r.ReferenceMS, r.CatchupMS/r.ReferenceMS)
		}
		fmt.Fprintln(out)
	})
}

func (d *deployment) catchup(ctx context.Context, count, rounds int, data string) (_ *catchupResult, err error) {
	users, err := d.users(ctx, 2, 1)
	if err != nil {
		return nil, err
	}
	c, err := d.pair(ctx, users[0], users[1])
	if err != nil {
		return nil, err
	}
	away, tail, err := d.greet(ctx, users[1])
	if err != nil {
		return nil, err
	}
	if err := away.net.Close(); err != nil {
		return nil, err
	}
	d.progress("sending %d messages to a user who is offline", count)
	text := strings.Repeat("0123456789", 20)
	err = each(ctx, count, 64, func(ctx context.Context, i int) error {
		_, err := d.endpoints[0].chat.Send(ctx, as(users[0].sessions[0].AccessToken, &chatv1.SendRequest{Conversation: c.Id, ClientSeq: uint64(i + 1), Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}))
		return err
	})
	if err != nil {
		return nil, err
	}
	s, _, err := d.greet(ctx, users[1])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.net.Close()) }()
	r := &catchupResult{}
	for r.Events < count { // the last acknowledged messages may not be in the inbox yet
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.catchUp(tail, r); err != nil {
			return nil, err
		}
	}
	if r.Events != count {
		return nil, fmt.Errorf("sent %d messages, but received %d events", count, r.Events)
	}
	var took, reference []time.Duration
	for round := range rounds {
		d.progress("round %d of %d", round+1, rounds)
		start := time.Now()
		if err := s.catchUp(tail, r); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
		if data != "" {
			t, err := readAndSend(data, r.Events, r.Bytes)
			if err != nil {
				return nil, err
			}
			reference = append(reference, t)
		}
	}
	slices.Sort(took)
	r.CatchupMS = took[len(took)/2].Seconds() * 1000
	if data != "" {
		slices.Sort(reference)
		r.ReferenceMS = reference[len(reference)/2].Seconds() * 1000
	}
	return r, nil
}

// greet opens a user's socket, and returns the position of the stream.
func (d *deployment) greet(ctx context.Context, u *user) (*socket, *chatv1.Position, error) {
	s, err := dial(ctx, d.endpoints[0].url, u.sessions[0].AccessToken, nil, 1<<20)
	if err != nil {
		return nil, nil, err
	}
	hello, err := readHello(s)
	if err != nil {
		return nil, nil, err
	}
	return s, hello.Tail, nil
}

// catchUp requests page after page from a position, and counts the events.
func (s *socket) catchUp(from *chatv1.Position, r *catchupResult) error {
	r.Events, r.Bytes, r.Pages = 0, 0, 0
	at := from
	for {
		ask, err := proto.Marshal(&gatewayv1.ClientFrame{Sync: &chatv1.SyncRequest{After: at, Limit: 2000}})
		if err != nil {
			return err
		}
		if err := s.write(ask); err != nil {
			return err
		}
		page, err := s.page()
		if err != nil {
			return err
		}
		next, more := &chatv1.Position{}, false
		cur := cursor{b: page}
		for {
			field, v, p, ok := cur.next()
			if !ok {
				break
			}
			switch field {
			case 1:
				r.Events++
			case 2:
				if err := proto.Unmarshal(p, next); err != nil {
					return err
				}
			case 3:
				more = v != 0
			case 4:
				return errReset
			}
		}
		if cur.bad {
			return errWire
		}
		r.Bytes += len(page)
		r.Pages++
		if !more {
			return nil
		}
		at = next
	}
}

// page waits for the answer to a sync, and skips pushed events, which are in a page too.
func (s *socket) page() ([]byte, error) {
	for {
		p, err := s.next()
		if err != nil {
			return nil, err
		}
		cur := cursor{b: p}
		for {
			field, _, b, ok := cur.next()
			if !ok {
				break
			}
			switch field {
			case 12:
				return b, nil
			case 6, 11:
				return nil, serverError(p)
			}
		}
		if cur.bad {
			return nil, errWire
		}
	}
}

// readAndSend measures the time to read some bytes in some records from Pebble and to send them to a reader.
func readAndSend(parent string, records, size int) (_ time.Duration, err error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp(parent, "reference-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := pebble.Open(filepath.Join(dir, "pebble"), &pebble.Options{Logger: quiet{}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	value := make([]byte, size/records)
	for i := range records {
		if err := db.Set(binary.BigEndian.AppendUint64(nil, uint64(i)), value, pebble.NoSync); err != nil {
			return 0, err
		}
	}
	if err := db.Flush(); err != nil {
		return 0, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	received := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, c)
			err = errors.Join(err, c.Close())
		}
		received <- err
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return 0, err
	}
	start := time.Now()
	sent := sendAll(db, c)
	err = errors.Join(sent, c.Close(), <-received)
	return time.Since(start), err
}

// sendAll reads every record and writes them in frames of 256 KiB.
func sendAll(db *pebble.DB, to io.Writer) (err error) {
	it, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	b := make([]byte, 0, 257<<10)
	for ok := it.First(); ok; ok = it.Next() {
		if b = append(b, it.Value()...); len(b) >= 256<<10 {
			if _, err := to.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	if _, err := to.Write(b); err != nil {
		return err
	}
	return it.Error()
}
