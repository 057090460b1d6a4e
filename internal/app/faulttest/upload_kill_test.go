package faulttest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	part    = int64(blob.MinPartSize)
	mebi    = int64(1 << 20)
	fileEnd = 2*part + 1000 // the size of each file: two parts, and a short one
)

// killed is how a server ends while it receives a file.
type killed struct {
	at     string // the failpoint; empty: from outside, in the middle of a part
	give   int64  // how many more bytes the client sends until then
	length int64  // of the request of tus that they are in; 0: all the rest
}

// tusKills are between parts, in the middle of them, and before and after a part or the beginning of one is recorded.
var tusKills = []killed{
	{"", 2 * mebi, 0},
	{"media/part-stored", part, 0},
	{"media/part-recorded", part, 0},
	{"", part / 2, 0},
	{"media/part-stored", 3 * mebi, 3 * mebi},
	{"media/part-recorded", 3 * mebi, 3 * mebi},
	{"", mebi, 0}, // behind a beginning that is kept
}

// partKills are the same for parts by number, whose order is that of the file.
var partKills = []killed{
	{"", 2 * mebi, 0},
	{"media/part-recorded", part, 0},
	{"media/part-stored", part, 0},
	{"", 3 * mebi, 0},
}

// completionKills are the steps from the last part to a complete upload.
var completionKills = []string{"media/joined", "media/join-recorded", "media/inspected", "media/completed"}

// want is what a client finds stored of a file of which a number of bytes were stored before.
func (k killed) want(before int64) int64 {
	switch k.at {
	case "media/part-stored":
		return before
	case "media/part-recorded":
		return before + k.give
	}
	return max(before, (before+k.give)/part*part)
}

// randomKill is one that may come after a number of stored bytes, false if too few are missing.
func randomKill(rng *rand.Rand, before int64, tus bool) (killed, bool) {
	rest := part - before%part
	if before >= 2*part {
		return killed{}, false
	}
	switch at := []string{"", "media/part-stored", "media/part-recorded"}[rng.IntN(3)]; {
	case at == "":
		return killed{at, 2*mebi + rng.Int64N(2*part-before-2*mebi+1), 0}, 2*part-before > 2*mebi
	case tus && rest > 2*mebi && rng.IntN(2) == 0:
		n := mebi + rng.Int64N(rest-mebi)
		return killed{at, n, n}, true
	default:
		return killed{at, rest, 0}, true
	}
}

// uploader is a client of a server that is killed. It counts the bytes of files that it sends, and stops before some of them.
type uploader struct {
	t      *testing.T
	p      *process
	client *rialto.Client
	store  *rialto.MemoryStore
	file   []byte
	sent   atomic.Int64
	most   atomic.Int64 // sent rises to this number, and waits there for the server's end
}

// givenBody is the body of a request of an uploader.
type givenBody struct {
	io.ReadCloser
	u    *uploader
	gone <-chan struct{}
}

func (b *givenBody) Read(p []byte) (int, error) {
	left := b.u.most.Load() - b.u.sent.Load()
	if left <= 0 {
		<-b.gone
		return 0, errors.New("the server is gone")
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), left)])
	b.u.sent.Add(int64(n))
	return n, err
}

// RoundTrip is an http.RoundTripper's.
func (u *uploader) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut || r.Method == http.MethodPatch {
		r = r.Clone(r.Context())
		r.Body, r.GetBody = &givenBody{r.Body, u, u.p.gone}, nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

func newUploader(t *testing.T, p *process, seed uint64) *uploader {
	t.Helper()
	u := &uploader{t: t, p: p, store: rialto.NewMemoryStore(), file: make([]byte, fileEnd)}
	for i, rng := 0, rand.NewPCG(seed, 3); i < len(u.file); i++ {
		u.file[i] = byte(rng.Uint64())
	}
	u.most.Store(1 << 62)
	var err error
	if u.client, err = rialto.New(rialto.Config{URL: p.url(), HTTP: &http.Client{Transport: u}, Store: u.store, Logger: quiet()}); err != nil {
		t.Fatal(err)
	}
	if err := u.client.Register(t.Context(), "ann", "a good password", "Ann"); err != nil {
		t.Fatal(err)
	}
	return u
}

// restart starts the server again, so that it dies at a failpoint.
func (u *uploader) restart(failpoint string) {
	u.t.Helper()
	u.p.kill()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections() // those to the killed server: a POST on one fails, and is not repeated
	if !u.p.start(failpoint) {
		u.t.Fatalf("the server did not start again, before %s", failpoint)
	}
}

// tus makes a request of tus, and returns the status and headers of the answer.
func (u *uploader) tus(method, path string, body io.Reader, length int64, headers ...string) (int, http.Header, error) {
	u.t.Helper()
	state, err := u.store.Load()
	if err != nil {
		u.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(u.t.Context(), method, u.p.url()+path, body)
	if err != nil {
		u.t.Fatal(err)
	}
	r.ContentLength = length
	for _, h := range append(headers, "Tus-Resumable: 1.0.0", "Authorization: Bearer "+state.Access) {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	a, err := u.RoundTrip(r)
	if err != nil {
		return 0, nil, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode >= 300 {
		u.t.Fatalf("%s %s is answered with %s %s", method, path, a.Status, text)
	}
	return a.StatusCode, a.Header, err
}

// stored is how far an upload of tus has come.
func (u *uploader) stored(path string) int64 {
	u.t.Helper()
	_, h, err := u.tus(http.MethodHead, path, nil, 0)
	if err != nil {
		u.t.Fatal(err)
	}
	n, err := strconv.ParseInt(h.Get("Upload-Offset"), 10, 64)
	if err != nil {
		u.t.Fatal(err)
	}
	return n
}

// patch sends bytes from an offset on.
func (u *uploader) patch(path string, from, length int64) error {
	u.t.Helper()
	_, _, err := u.tus(http.MethodPatch, path, bytes.NewReader(u.file[from:from+length]), length, "Content-Type: application/offset+octet-stream", fmt.Sprint("Upload-Offset: ", from))
	return err
}

// create begins an upload of tus, and returns its address and number.
func (u *uploader) create() (path string, upload uint64) {
	u.t.Helper()
	_, h, err := u.tus(http.MethodPost, "/v1/tus/", nil, 0, fmt.Sprint("Upload-Length: ", len(u.file)), "Upload-Metadata: filename YS5iaW4=")
	if err != nil {
		u.t.Fatal(err)
	}
	path = h.Get("Location")
	if upload, err = strconv.ParseUint(path[strings.LastIndexByte(path, '/')+1:], 10, 64); err != nil {
		u.t.Fatal(err)
	}
	return path, upload
}

// session is how many bytes the file has in which the server collects the parts of an upload; 0: there is none.
func (u *uploader) session(upload uint64) int64 {
	u.t.Helper()
	info, err := os.Stat(filepath.Join(u.p.dir, datadir.FilesDir, ".part", "sessions", fmt.Sprintf("media_%02d_%d", upload%100, upload)))
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	if err != nil {
		u.t.Fatal(err)
	}
	return info.Size()
}

// killDuring begins to send, and returns when the server was killed. stored returns what is stored.
func (u *uploader) killDuring(k killed, before int64, upload uint64, send func() error, stored func() int64) {
	u.t.Helper()
	if k.at != "" {
		u.restart(k.at)
	}
	sent := u.sent.Load()
	u.most.Store(sent + k.give)
	ended := make(chan error, 1)
	go func() { ended <- send() }()
	want := k.want(before)
	if k.at == "" {
		eventually.True(u.t, "the server has a part of what was sent", func() bool { return stored() == want && ((before+k.give)%part == 0 || u.session(upload) > want) })
		u.p.kill()
	}
	eventually.Receive(u.t, "the server dies at "+k.at, u.p.gone)
	if err := eventually.Receive(u.t, "the client notices", ended); err == nil {
		u.t.Errorf("a request to a server that dies at %q succeeded", k.at)
	}
	u.most.Store(1 << 62)
	u.restart("")
	given := before + u.sent.Load() - sent
	switch now := stored(); {
	case now != want:
		u.t.Errorf("a server that was killed at %q, %d bytes after %d, has stored %d, want %d", k.at, k.give, before, now, want)
	case given-now > part:
		u.t.Errorf("a server that was killed at %q has lost %d bytes, which is more than a part", k.at, given-now)
	}
}

// complete completes an upload whose server is killed at some steps, and checks its bytes.
func (u *uploader) complete(upload uint64, kills []string) {
	u.t.Helper()
	call := func() error {
		_, err := u.client.Media().CompleteUpload(u.t.Context(), connect.NewRequest(&chatv1.CompleteUploadRequest{Upload: upload}))
		return err
	}
	for _, at := range kills {
		u.restart(at)
		if err := call(); u.p.answered(err) {
			u.t.Errorf("the server did not die at %s", at)
		}
	}
	if len(kills) > 0 {
		u.restart("")
	}
	if err := call(); err != nil {
		u.t.Fatal(err)
	}
	r, err := u.client.Media().GetDownload(u.t.Context(), connect.NewRequest(&chatv1.GetDownloadRequest{Upload: upload}))
	if err != nil {
		u.t.Fatal(err)
	}
	if got := read(u.t, u.p.url()+r.Msg.Url); got != string(u.file) {
		u.t.Errorf("the file has %d bytes, and not the %d that were sent", len(got), len(u.file))
	}
}

// byTus uploads a file by tus through a server that is killed. next returns the next kill, false at the end.
func (u *uploader) byTus(next func(before int64) (killed, bool), completion []string) uint64 {
	u.t.Helper()
	path, upload := u.create()
	began, kills := u.sent.Load(), int64(0)
	stored := func() int64 { return u.stored(path) }
	for {
		before := stored()
		k, ok := next(before)
		if !ok {
			break
		}
		length := k.length
		if length == 0 {
			length = fileEnd - before
		}
		u.killDuring(k, before, upload, func() error { return u.patch(path, before, length) }, stored)
		kills++
	}
	if before := stored(); before < fileEnd {
		if err := u.patch(path, before, fileEnd-before); err != nil {
			u.t.Fatal(err)
		}
	}
	if again := u.sent.Load() - began - fileEnd; again > kills*part {
		u.t.Errorf("%d bytes were sent again after %d kills", again, kills)
	}
	u.complete(upload, completion)
	return upload
}

// byParts does it by presigned parts.
func (u *uploader) byParts(next func(before int64) (killed, bool), completion []string) uint64 {
	u.t.Helper()
	made, err := u.client.Media().CreateMultipartUpload(u.t.Context(), connect.NewRequest(&chatv1.CreateMultipartUploadRequest{Name: "b.bin", Size: uint64(fileEnd)}))
	if err != nil {
		u.t.Fatal(err)
	}
	upload := made.Msg.Upload
	send := func() error {
		_, err := u.client.UploadFile(u.t.Context(), "b.bin", "", fileEnd, bytes.NewReader(u.file), rialto.UploadOptions{Upload: upload, Parallel: 1})
		return err
	}
	stored := func() int64 {
		m, err := u.client.Media().GetMultipartUpload(u.t.Context(), connect.NewRequest(&chatv1.GetMultipartUploadRequest{Upload: upload}))
		if err != nil {
			u.t.Fatal(err)
		}
		if len(m.Msg.Missing) == 0 {
			return fileEnd
		}
		return int64(m.Msg.Missing[0]-1) * part
	}
	began, kills := u.sent.Load(), int64(0)
	for {
		before := stored()
		k, ok := next(before)
		if !ok {
			break
		}
		u.killDuring(k, before, upload, send, stored)
		kills++
	}
	if len(completion) > 0 { // UploadFile completes it, too
		u.restart(completion[0])
		if err := send(); err == nil {
			u.t.Errorf("the server did not die at %s", completion[0])
		}
		u.restart("")
		completion = completion[1:]
	}
	if err := send(); err != nil {
		u.t.Fatal(err)
	}
	if again := u.sent.Load() - began - fileEnd; again > kills*part {
		u.t.Errorf("%d bytes were sent again after %d kills", again, kills)
	}
	u.complete(upload, completion)
	return upload
}

// abandon ends an upload of tus that has a part and the beginning of another one, with a server that dies at a failpoint of that.
func (u *uploader) abandon(failpoint string) {
	u.t.Helper()
	u.restart(failpoint)
	path, upload := u.create()
	if err := u.patch(path, 0, part+mebi); err != nil {
		u.t.Fatal(err)
	}
	if _, _, err := u.tus(http.MethodDelete, path, nil, 0); err == nil {
		u.t.Errorf("the server did not die at %s", failpoint)
	}
	u.restart("")
	eventually.True(u.t, "nothing is left of an upload that was ended", func() bool {
		return !slices.ContainsFunc(u.files(), func(f string) bool { return strings.Contains(f, fmt.Sprint(upload)) }) && !u.mayHaveRow(upload)
	})
}

// mayHaveRow reports whether the database has a row of an upload, or cannot be read at the moment: the server writes to it.
func (u *uploader) mayHaveRow(upload uint64) bool {
	db, done, err := sqldb.OpenSnapshot(filepath.Join(u.p.dir, datadir.DatabaseFile))
	if err != nil {
		return true
	}
	rows := 0
	err = db.QueryRowContext(u.t.Context(), `SELECT count(*) FROM uploads WHERE id = $1`, int64(upload)).Scan(&rows)
	return errors.Join(err, done()) != nil || rows > 0
}

// files are those that are stored, with their sizes.
func (u *uploader) files() (list []string) {
	u.t.Helper()
	dir := filepath.Join(u.p.dir, datadir.FilesDir)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		list = append(list, fmt.Sprint(filepath.ToSlash(name), " ", info.Size()))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		u.t.Fatal(err)
	}
	return list
}

// check stops the server. The files are those of complete uploads, and the quota is their size.
func (u *uploader) check(complete []uint64) {
	u.t.Helper()
	_, err := u.client.Media().CreateUpload(u.t.Context(), connect.NewRequest(&chatv1.CreateUploadRequest{Name: "c", Size: 1}))
	if rialto.Reason(err) != "quota" {
		u.t.Errorf("one more byte than the quota allows: %v", err)
	}
	u.p.stop()
	u.p.verify()
	var want []string
	for _, n := range complete {
		want = append(want, fmt.Sprintf("media/%02d/%d %d", n%100, n, fileEnd))
	}
	got := u.files()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		u.t.Errorf("the files are %q, want %q", got, want)
	}
	db, done, err := sqldb.OpenSnapshot(filepath.Join(u.p.dir, datadir.DatabaseFile))
	if err != nil {
		u.t.Fatal(err)
	}
	var used, unfinished, parts int64
	err = db.QueryRowContext(u.t.Context(), `SELECT used, unfinished, (SELECT count(*) FROM upload_parts) FROM upload_sums`).Scan(&used, &unfinished, &parts)
	if err := errors.Join(err, done()); err != nil {
		u.t.Fatal(err)
	}
	if used != int64(len(complete))*fileEnd || unfinished != 0 || parts != 0 {
		u.t.Errorf("the quota is used by %d bytes in %d files, with %d unfinished uploads and %d parts", used, len(complete), unfinished, parts)
	}
}

// each returns the next one of some kills.
func each(kills []killed) func(int64) (killed, bool) {
	n := -1
	return func(int64) (killed, bool) {
		if n++; n == len(kills) {
			return killed{}, false
		}
		return kills[n], true
	}
}

// atRandom returns a number of kills at random places.
func atRandom(rng *rand.Rand, n int, tus bool) func(int64) (killed, bool) {
	return func(before int64) (killed, bool) {
		if n--; n < 0 {
			return killed{}, false
		}
		return randomKill(rng, before, tus)
	}
}

// TestKilledWhileFilesAreUploaded: wherever a server is killed that receives a file in parts, its client sends at most one part again, the file is whole, and nothing else is left or counts in the quota.
func TestKilledWhileFilesAreUploaded(t *testing.T) {
	open := func(t *testing.T, seed uint64) *uploader {
		p := newProcess(t, "--set", fmt.Sprint("media.quota=", 2*fileEnd), "--set", "limits.call_user=none") // it asks all the time what is stored
		if !p.start("") {
			t.Fatal("the server did not start")
		}
		return newUploader(t, p, seed)
	}
	u := open(t, 1)
	u.abandon("media/released")
	u.abandon("media/bytes-deleted")
	u.check([]uint64{u.byTus(each(tusKills), completionKills), u.byParts(each(partKills), completionKills[:1])})
	if os.Getenv("KILL_CYCLES") == "" {
		return
	}
	const kills, share = 12, 5 // kills of one round; a round takes as long as five times as many other kills
	seed := uint64(number(t, "KILL_SEED", 1))
	for i := range uint64(max(1, cycles(t)/(share*kills))) {
		t.Run(fmt.Sprint("seed ", seed+i), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed+i, 4))
			byParts := rng.IntN(len(completionKills)) // the step at which its only completion dies
			u := open(t, seed+i)
			u.abandon([]string{"media/released", "media/bytes-deleted"}[rng.IntN(2)])
			u.check([]uint64{
				u.byTus(atRandom(rng, kills/2, true), completionKills[rng.IntN(len(completionKills)):]),
				u.byParts(atRandom(rng, kills/2, false), completionKills[byParts:byParts+1]),
			})
		})
	}
}
