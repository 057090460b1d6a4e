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
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// filers is the number of users who send and fetch files, if the files are in S3, which all nodes share.
const filers = 2

// fileTime limits one step of sending or fetching a file.
const fileTime = 15 * time.Second

// file that was sent and acknowledged as complete.
type file struct {
	owner  *user
	upload uint64
	sum    string // SHA-256 of its bytes, in hexadecimal
}

func sumOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// file makes a user send files, each step to a random node, and fetch earlier ones.
func (t *workload) file(ctx, online context.Context, p *user) {
	rng := t.rng(p.name)
	var mine []file
	for t.wait(ctx, rng, time.Second) {
		if f, ok := t.upload(online, rng, p); ok {
			mine = append(mine, f)
			t.sentFiles.Add(f)
		}
		for range 2 {
			if len(mine) > 0 {
				t.fetch(online, t.router.RandomNode(), mine[rng.IntN(len(mine))], FDownload)
			}
		}
	}
}

// size of a file: most are small, and some need more than one S3 request.
func size(rng *rand.Rand) int {
	switch rng.IntN(20) {
	case 0:
		return 9<<20 + rng.IntN(1<<20)
	case 1, 2, 3:
		return 256<<10 + rng.IntN(1<<20)
	}
	return 1 + rng.IntN(64<<10)
}

// fileAttempts is the number of attempts at a step, after which the file is given up, as an app does.
const fileAttempts = 6

// upload sends a file. Sometimes it then sends other bytes to the same URL, before or after completion: the first ones must stay.
func (t *workload) upload(ctx context.Context, rng *rand.Rand, p *user) (f file, ok bool) {
	body := make([]byte, size(rng))
	for i := range body {
		body[i] = byte(rng.Uint32())
	}
	f = file{owner: p, sum: sumOf(body)}
	e := t.record.Begin(Event{Proc: p.name, F: FUpload, User: p.id, Text: f.sum, N: uint64(len(body))})
	var url string
	err := t.retry(ctx, func(ctx context.Context) error {
		made, err := p.caller.Media().CreateUpload(ctx, connect.NewRequest(&chatv1.CreateUploadRequest{Name: "bytes", Size: e.N}))
		if err == nil {
			f.upload, url = made.Msg.Upload, "http://cluster.invalid"+made.Msg.Url
		}
		return err
	})
	if err == nil {
		err = t.retry(ctx, func(ctx context.Context) error { return t.put(ctx, url, body) })
	}
	if err == nil && rng.IntN(4) == 0 {
		_ = t.put(ctx, url, make([]byte, len(body))) // whatever the answer, the first bytes must stay
	}
	if err == nil {
		err = t.retry(ctx, func(ctx context.Context) error {
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

// retry repeats a step until it succeeds or is refused, each time on a random node.
func (t *workload) retry(ctx context.Context, step func(ctx context.Context) error) (err error) {
	for range fileAttempts {
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
func (t *workload) put(ctx context.Context, url string, body []byte) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodPut, url, io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return err
	}
	q.ContentLength = int64(len(body))
	_, err = t.transfer(q)
	return err
}

// transfer makes a plain HTTP request and reads the answer.
func (t *workload) transfer(q *http.Request) ([]byte, error) {
	r, err := t.router.RoundTrip(q)
	if err != nil {
		return nil, err // no code: the outcome is unknown
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode >= 300 {
		err = connect.NewError(codeOf(r.StatusCode), fmt.Errorf("%s: %.200s", r.Status, answer))
	}
	return answer, err
}

// codeOf converts an HTTP status; server errors become retryable codes.
func codeOf(status int) connect.Code {
	if status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout {
		return connect.CodeUnavailable
	}
	return connect.CodeFailedPrecondition
}

// fetch reads a file from a node and records the result.
func (t *workload) fetch(ctx context.Context, n *Node, f file, kind string) error {
	ctx, cancel := context.WithTimeout(WithNode(ctx, n), fileTime)
	defer cancel()
	e := t.record.Begin(Event{Proc: f.owner.name, F: kind, User: f.owner.id, ID: strconv.FormatUint(f.upload, 10), Node: n.Name})
	body, err := t.download(ctx, f)
	if err != nil {
		e.Err = err.Error()
		t.record.End(e, outcome(err))
		return err
	}
	e.Text, e.N = sumOf(body), uint64(len(body))
	t.record.End(e, Ok)
	return nil
}

func (t *workload) download(ctx context.Context, f file) ([]byte, error) {
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

// readAllFiles reads all files from all nodes, after the faults.
func (t *workload) readAllFiles(ctx context.Context) error {
	nodes := t.router.Serving(roleAPI)
	for i, f := range t.sentFiles.All() {
		n := nodes[i%len(nodes)]
		err := retryCall(ctx, n, func(ctx context.Context) error { return t.fetch(ctx, n, f, FFile) })
		if err != nil && outcome(err) != Fail { // refusals are checked later
			return fmt.Errorf("reading the file %d from %s: %w", f.upload, n.Name, err)
		}
	}
	return nil
}
