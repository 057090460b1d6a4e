package chaos

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
)

// filers send files and fetch them, where files are in S3, which all nodes share.
const filers = 2

// fileTime bounds a step of sending a file, and fetching one.
const fileTime = 15 * time.Second

// file that was sent, and answered as complete.
type file struct {
	owner  *person
	upload uint64
	sum    string // of its bytes, in hexadecimal
}

// shelf has all files. Its methods may be called from many goroutines.
type shelf struct {
	mu    sync.Mutex // guards files
	files []file
}

func (s *shelf) add(f file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, f)
}

func (s *shelf) all() []file {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]file(nil), s.files...)
}

// file has a person send files, each step by any node, and fetch those that they sent earlier.
func (t *town) file(ctx, ever context.Context, p *person) {
	rng := t.chance(p.name)
	var mine []file
	for t.rest(ctx, rng, time.Second) {
		if f, ok := t.upload(ever, rng, p); ok {
			mine = append(mine, f)
			t.shelf.add(f)
		}
		for range 2 {
			if len(mine) > 0 {
				t.fetch(ever, t.router.Any(), mine[rng.IntN(len(mine))], FDownload)
			}
		}
	}
}

// size of a file: most are small, and some are longer than one request of S3.
func size(rng *rand.Rand) int {
	switch rng.IntN(20) {
	case 0:
		return 9<<20 + rng.IntN(1<<20)
	case 1, 2, 3:
		return 256<<10 + rng.IntN(1<<20)
	}
	return 1 + rng.IntN(64<<10)
}

// triesOfFiles is how often a step is tried, as an app does, before the file is given up.
const triesOfFiles = 6

// upload sends a file. Sometimes other bytes are put in its place, before or after it is complete: those that came first stay.
func (t *town) upload(ctx context.Context, rng *rand.Rand, p *person) (f file, ok bool) {
	body := make([]byte, size(rng))
	for i := range body {
		body[i] = byte(rng.Uint32())
	}
	sum := sha256.Sum256(body)
	f = file{owner: p, sum: hex.EncodeToString(sum[:])}
	e := t.record.Begin(Event{Proc: p.name, F: FUpload, User: p.id, Text: f.sum, N: uint64(len(body))})
	var url string
	err := t.steps(ctx, func(ctx context.Context) error {
		made, err := p.caller.Media().CreateUpload(ctx, connect.NewRequest(&chatv1.CreateUploadRequest{Name: "bytes", Size: e.N}))
		if err == nil {
			f.upload, url = made.Msg.Upload, "http://cluster.invalid"+made.Msg.Url
		}
		return err
	})
	if err == nil {
		err = t.steps(ctx, func(ctx context.Context) error { return t.put(ctx, url, body) })
	}
	if err == nil && rng.IntN(4) == 0 {
		_ = t.put(ctx, url, make([]byte, len(body))) // whatever is said to it, what came first stays
	}
	if err == nil {
		err = t.steps(ctx, func(ctx context.Context) error {
			_, err := p.caller.Media().CompleteUpload(ctx, connect.NewRequest(&chatv1.CompleteUploadRequest{Upload: f.upload}))
			return err
		})
	}
	e.ID = strconv.FormatUint(f.upload, 10)
	if err != nil {
		e.Err = err.Error()
		t.record.End(e, outcome(err))
		return f, false
	}
	t.record.End(e, Ok)
	if rng.IntN(4) == 0 {
		_ = t.put(ctx, url, make([]byte, len(body)))
	}
	return f, true
}

// steps tries a step until it is done or refused, each time by any node.
func (t *town) steps(ctx context.Context, step func(ctx context.Context) error) (err error) {
	for range triesOfFiles {
		one, cancel := context.WithTimeout(ctx, fileTime)
		err = step(one)
		cancel()
		if err == nil || outcome(err) == Fail || !pause(ctx, time.Second) {
			break
		}
	}
	return err
}

// put sends bytes to an upload's URL.
func (t *town) put(ctx context.Context, url string, body []byte) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodPut, url, io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return err
	}
	q.ContentLength = int64(len(body))
	_, err = t.transfer(q)
	return err
}

// transfer makes a plain request, and reads its answer.
func (t *town) transfer(q *http.Request) ([]byte, error) {
	r, err := t.router.RoundTrip(q)
	if err != nil {
		return nil, err // no code: it is not known what came of it
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode >= 300 {
		err = connect.NewError(codeOf(r.StatusCode), fmt.Errorf("%s: %.200s", r.Status, answer))
	}
	return answer, err
}

// codeOf a status: those of the server's own failures say that another try may do.
func codeOf(status int) connect.Code {
	if status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout {
		return connect.CodeUnavailable
	}
	return connect.CodeFailedPrecondition
}

// fetch reads a file by a node, and records what it was.
func (t *town) fetch(ctx context.Context, n *Node, f file, kind string) error {
	ctx, cancel := context.WithTimeout(To(ctx, n), fileTime)
	defer cancel()
	e := t.record.Begin(Event{Proc: f.owner.name, F: kind, User: f.owner.id, ID: strconv.FormatUint(f.upload, 10), Node: n.Name})
	body, err := t.download(ctx, f)
	if err != nil {
		e.Err = err.Error()
		t.record.End(e, outcome(err))
		return err
	}
	sum := sha256.Sum256(body)
	e.Text, e.N = hex.EncodeToString(sum[:]), uint64(len(body))
	t.record.End(e, Ok)
	return nil
}

func (t *town) download(ctx context.Context, f file) ([]byte, error) {
	made, err := f.owner.caller.Media().GetDownload(ctx, connect.NewRequest(&chatv1.GetDownloadRequest{Upload: f.upload}))
	if err != nil {
		return nil, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://cluster.invalid"+made.Msg.Url, nil)
	if err != nil {
		return nil, err
	}
	return t.transfer(q)
}

// everyFile reads all files, each by one node after the other, when all is whole again.
func (t *town) everyFile(ctx context.Context) error {
	for i, f := range t.shelf.all() {
		n := t.cluster.Nodes[i%len(t.cluster.Nodes)]
		err := ask(ctx, n, func(ctx context.Context) error { return t.fetch(ctx, n, f, FFile) })
		if err != nil && outcome(err) != Fail { // what was refused is judged
			return fmt.Errorf("reading the file %d by %s: %w", f.upload, n.Name, err)
		}
	}
	return nil
}
