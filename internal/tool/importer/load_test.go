package importer_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/tool/apiclient"
	"github.com/rialto-im/rialto/internal/tool/importer"
	"github.com/rialto-im/rialto/internal/tool/interchangefile"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
)

// imitation is a server that stores keys of entries.
type imitation struct {
	operationv1connect.UnimplementedInterchangeServiceHandler
	stored map[string]bool
	calls  int
	busy   int  // so many of the next calls of ImportEntries are refused for a time
	breaks bool // the connection breaks before the answer of every other call of ImportEntries
	loses  bool // it loses an entry that it has confirmed
	refuse string
	files  int    // uploads
	reason string // of the refusal; "" is bad_text
}

func (s *imitation) ImportUsers(_ context.Context, r *connect.Request[operationv1.ImportUsersRequest]) (*connect.Response[operationv1.ImportUsersResponse], error) {
	a := &operationv1.ImportUsersResponse{}
	for i := range r.Msg.Users {
		a.Results = append(a.Results, &operationv1.ImportedUser{User: uint64(i) + 1})
	}
	return connect.NewResponse(a), nil
}

func (s *imitation) ImportConversation(context.Context, *connect.Request[operationv1.ImportConversationRequest]) (*connect.Response[operationv1.ImportConversationResponse], error) {
	return connect.NewResponse(&operationv1.ImportConversationResponse{Conversation: 7}), nil
}

func (s *imitation) ImportEntries(_ context.Context, r *connect.Request[operationv1.ImportEntriesRequest]) (*connect.Response[operationv1.ImportEntriesResponse], error) {
	if s.calls++; s.busy > 0 {
		s.busy--
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("busy"))
	}
	a := &operationv1.ImportEntriesResponse{}
	for _, e := range r.Msg.Entries {
		if e.Key == s.refuse {
			a.Results = append(a.Results, &operationv1.ImportedEntry{Reason: cmp.Or(s.reason, "bad_text"), Message: "no"})
			continue
		}
		a.Results = append(a.Results, &operationv1.ImportedEntry{Seq: 1, Duplicate: s.stored[e.Key]})
		s.stored[e.Key] = true
	}
	if s.breaks && s.calls%2 == 1 {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("the connection is broken"))
	}
	return connect.NewResponse(a), nil
}

func (s *imitation) ImportFile(context.Context, *connect.Request[operationv1.ImportFileRequest]) (*connect.Response[operationv1.ImportFileResponse], error) {
	s.files++
	return connect.NewResponse(&operationv1.ImportFileResponse{Upload: uint64(s.files), Url: "/upload"}), nil
}

func (s *imitation) CompleteFile(context.Context, *connect.Request[operationv1.CompleteFileRequest]) (*connect.Response[operationv1.CompleteFileResponse], error) {
	return connect.NewResponse(&operationv1.CompleteFileResponse{}), nil
}

func (s *imitation) EndImport(context.Context, *connect.Request[operationv1.EndImportRequest]) (*connect.Response[operationv1.EndImportResponse], error) {
	n := uint64(len(s.stored))
	if s.loses {
		n--
	}
	return connect.NewResponse(&operationv1.EndImportResponse{Messages: n}), nil
}

// sample is a directory with 250 messages, of which one comes twice, at two times.
func sample(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	w, err := interchangefile.Create(t.Context(), dir, "test", now)
	must(t, err)
	must(t, w.Conversation(interchangefile.Conversation{ID: "c", Kind: interchangefile.Group, Owner: "u"}))
	for i := range int64(250) {
		must(t, w.Entry("", interchangefile.Entry{Conversation: "c", ID: strings.Repeat("i", int(i%249)+1), TimeMs: 1_600_000_000_000 + i, Sender: "u", Kind: interchangefile.Text, Text: "x"}))
	}
	_, err = w.Close()
	must(t, err)
	return dir
}

func serve(t *testing.T, s *imitation) *importer.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(operationv1connect.NewInterchangeServiceHandler(s))
	mux.HandleFunc("PUT /upload", func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return connectTo(t, server.URL)
}

func connectTo(t *testing.T, address string) *importer.Server {
	t.Helper()
	client, err := apiclient.New(apiclient.Config{URL: address, Key: "key", Access: importer.Access, Patience: importer.Patience})
	must(t, err)
	return &importer.Server{Client: client}
}

// TestCountsAreCompared: what the server refuses, and an id that comes twice, is counted with its reason. A message that the server has confirmed and does
// not have is a difference, and so is one that comes too late for its time. While it is busy, it is asked again.
func TestCountsAreCompared(t *testing.T) {
	for name, test := range map[string]struct {
		server   imitation
		messages int64
		skipped  map[string]int64
		differs  bool
	}{
		"all is well": {imitation{busy: 1}, 249, map[string]int64{"message: duplicate_id": 1}, false},
		"refusal":     {imitation{refuse: "iii"}, 248, map[string]int64{"message: duplicate_id": 1, "message: bad_text": 1}, false},
		"order":       {imitation{refuse: "iii", reason: "time_order"}, 248, map[string]int64{"message: duplicate_id": 1, "message: time_order": 1}, true},
		"repetition":  {imitation{breaks: true}, 249, map[string]int64{"message: duplicate_id": 1}, false},
		"loss":        {imitation{loses: true}, 249, map[string]int64{"message: duplicate_id": 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			test.server.stored = map[string]bool{}
			report, err := importer.Load(t.Context(), importer.Options{Dir: sample(t), Server: serve(t, &test.server), Rate: 100_000})
			must(t, err)
			if report.Imported.Messages != test.messages || report.Imported.Users != 1 || len(report.Mismatches) > 0 != test.differs {
				t.Errorf("the report is %+v", report)
			}
			for reason, n := range test.skipped {
				if report.Skipped[reason] != n {
					t.Errorf("skipped: %v, want %v", report.Skipped, test.skipped)
				}
			}
		})
	}
}

// TestALoadContinues: wherever it was interrupted, also between the server's answer and the note of it, the next one sends the rest, and counts each entry once.
func TestALoadContinues(t *testing.T) {
	stop := errors.New("stop")
	for _, at := range []int{1, 2, 3, 4} {
		server, dir := &imitation{stored: map[string]bool{}}, sample(t)
		o := importer.Options{Dir: dir, Server: serve(t, server), Rate: 100_000}
		n := 0
		o.Progressed = func() error {
			if n++; n == at {
				return stop
			}
			return nil
		}
		_, err := importer.Load(t.Context(), o)
		if !errors.Is(err, stop) {
			t.Fatalf("the load was not interrupted at %d: %v", at, err)
		}
		calls := server.calls
		report, err := importer.Load(t.Context(), importer.Options{Dir: dir, Server: o.Server, Rate: 100_000})
		must(t, err)
		if report.Imported.Messages != 249 || len(report.Mismatches) > 0 || len(server.stored) != 249 || report.Skipped["message: duplicate_id"] != 1 {
			t.Errorf("interrupted at %d: %+v", at, report)
		}
		if again := server.calls - calls; again != 4-at && at < 4 {
			t.Errorf("interrupted at %d, the rest takes %d calls", at, again)
		}
	}
}

// TestAWrongAddressShowsAtOnce: a server without these calls, such as the admin listener, is not asked again.
func TestAWrongAddressShowsAtOnce(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	_, err := importer.Load(t.Context(), importer.Options{Dir: sample(t), Server: connectTo(t, server.URL)})
	if err == nil || !strings.Contains(err.Error(), "404") || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// TestALoadIsOfOneServer: the note of a load to one server is not that of another.
func TestALoadIsOfOneServer(t *testing.T) {
	dir := sample(t)
	server := &imitation{stored: map[string]bool{}}
	_, err := importer.Load(t.Context(), importer.Options{Dir: dir, Server: serve(t, server), Rate: 100_000})
	must(t, err)
	_, err = importer.Load(t.Context(), importer.Options{Dir: dir, Server: serve(t, &imitation{}), Rate: 100_000})
	if err == nil || !strings.Contains(err.Error(), "import-state.json is of an import to") {
		t.Errorf("another server: %v", err)
	}
	if server.calls != 3 {
		t.Errorf("%d calls", server.calls)
	}
}

// TestAFileIsUploadedOnceForEachUser: however many of a user's messages have it. Users do not use files of others.
func TestAFileIsUploadedOnceForEachUser(t *testing.T) {
	dir := t.TempDir()
	w, err := interchangefile.Create(t.Context(), dir, "test", now)
	must(t, err)
	must(t, w.Conversation(interchangefile.Conversation{ID: "c", Kind: interchangefile.Group, Owner: "u", Members: []string{"v"}}))
	path, size, err := w.StoreFile(strings.NewReader("bytes"))
	must(t, err)
	for i := range 150 { // more than a batch
		e := interchangefile.Entry{Conversation: "c", ID: strings.Repeat("i", i+1)[:min(i+1, 100)] + strings.Repeat("j", max(i-99, 0)), TimeMs: 1_600_000_000_000 + int64(i), Sender: []string{"u", "v"}[i%2],
			Kind: interchangefile.File, Files: []interchangefile.Attachment{{Path: path, Name: "a.txt", Size: uint64(size)}}}
		must(t, w.Entry("", e))
	}
	_, err = w.Close()
	must(t, err)
	server := &imitation{stored: map[string]bool{}}
	report, err := importer.Load(t.Context(), importer.Options{Dir: dir, Server: serve(t, server), Rate: 100_000})
	must(t, err)
	if report.Imported.Attachments != 150 || server.files != 2 || len(report.Mismatches) > 0 {
		t.Errorf("%d uploads for %d attachments of two users: %+v", server.files, report.Imported.Attachments, report)
	}
}

func (s *imitation) ImportVideos(_ context.Context, r *connect.Request[operationv1.ImportVideosRequest]) (*connect.Response[operationv1.ImportVideosResponse], error) {
	a := &operationv1.ImportVideosResponse{}
	for _, v := range r.Msg.Videos {
		a.Results = append(a.Results, &operationv1.ImportedItem{Duplicate: s.stored[v.Key]})
		s.stored[v.Key] = true
	}
	return connect.NewResponse(a), s.fails()
}

func (s *imitation) ImportPosts(_ context.Context, r *connect.Request[operationv1.ImportPostsRequest]) (*connect.Response[operationv1.ImportPostsResponse], error) {
	a := &operationv1.ImportPostsResponse{}
	for _, p := range r.Msg.Posts {
		result := &operationv1.ImportedItem{Duplicate: s.stored[p.Key]}
		if p.Key == s.refuse {
			result.Reason = "bad_post"
		}
		a.Results = append(a.Results, result)
		s.stored[p.Key] = true
	}
	return connect.NewResponse(a), s.fails()
}

// fails breaks every other connection, after what was asked for was stored.
func (s *imitation) fails() error {
	if s.calls++; s.breaks && s.calls%2 == 1 {
		return connect.NewError(connect.CodeUnavailable, errors.New("the connection is broken"))
	}
	return nil
}

// TestALoadOfPostsContinues: wherever it was interrupted, and however often connections break, each version of a post is counted once, what is refused has a reason, and the file of a video is
// uploaded once.
func TestALoadOfPostsContinues(t *testing.T) {
	stop := errors.New("stop")
	for at := 1; at <= 8; at++ {
		server, dir := &imitation{stored: map[string]bool{}, breaks: at%2 == 0, refuse: "p7"}, t.TempDir()
		a, err := interchangefile.Append(dir, interchangefile.Position{})
		must(t, err)
		must(t, a.User(interchangefile.User{ID: "u", Name: "U"}))
		path, err := a.StoreFile(strings.NewReader("a movie"))
		must(t, err)
		must(t, a.Video(&interchangefile.UserVideo{ID: "v", Owner: "u", TimeMs: 1, Path: path}))
		for i := range 250 {
			must(t, a.Post(&interchangefile.Post{ID: fmt.Sprint("p", i), Author: "u", Version: 1, TimeMs: 1, Text: "x", Video: "v"}))
		}
		must(t, a.Post(&interchangefile.Post{ID: "p250", Author: "nobody", Version: 1, TimeMs: 1, Text: "x"}))
		_, err = a.Close("rialto", now)
		must(t, err)
		o, n := importer.Options{Dir: dir, Server: serve(t, server), Rate: 100_000}, 0
		o.Progressed = func() error {
			if n++; n == at {
				return stop
			}
			return nil
		}
		report, err := importer.Load(t.Context(), o)
		if errors.Is(err, stop) {
			report, err = importer.Load(t.Context(), o)
		}
		must(t, err)
		if report.Imported.Posts != 249 || report.Imported.Videos != 1 || report.Skipped["post: bad_post"] != 1 || report.Skipped["post: no_user"] != 1 || len(report.Mismatches) > 0 || server.files != 1 {
			t.Errorf("interrupted at %d, with %d uploads: %+v", at, server.files, report)
		}
	}
}
