package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"github.com/rialto-im/rialto/internal/platform/pipeline"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/web"
)

// TestClosingANodeLeavesNoGoroutines: a closed node leaves no goroutine, and its directory opens again with all data.
func TestClosingANodeLeavesNoGoroutines(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for n := range 2 {
		h, err := Open(t.Context(), configure(t, data), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		c := client(t, h)
		if n == 0 {
			err = c.Register(t.Context(), "alice", "a good password", "Alice")
		} else {
			err = c.Login(t.Context(), "alice", "a good password")
		}
		if err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Errorf("closed again: %v", err)
		}
		noneLeft(t)
	}
	if info, err := os.Stat(data); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data directory is %v, %v", info.Mode(), err)
	}
}

// TestAFailedStartLeavesNoGoroutines, however far it came.
func TestAFailedStartLeavesNoGoroutines(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	data := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	badTimelines := filepath.Join(t.TempDir(), "bad")
	if err := os.MkdirAll(badTimelines, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(badTimelines, datadir.TimelinesDir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	badRecords := filepath.Join(t.TempDir(), "bad")
	if err := os.MkdirAll(badRecords, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(badRecords, recordsFile), []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	lostFiles := t.TempDir()
	stores, err := datadir.Open(t.Context(), lostFiles, datadir.Options{Logger: slog.New(slog.DiscardHandler), Spare: 1})
	if err := errors.Join(err, stores.Close()); err != nil {
		t.Fatal(err)
	}
	lostTimelines := filepath.Join(t.TempDir(), "data")
	served, err := Open(t.Context(), configure(t, lostTimelines), slog.New(slog.DiscardHandler))
	if err == nil {
		err = served.Close()
	}
	timelines := filepath.Join(lostTimelines, datadir.TimelinesDir)
	if err := errors.Join(err, os.RemoveAll(timelines), os.Mkdir(timelines, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		data string
		set  []string
		says string
	}{
		{lostTimelines, nil, "marker.manifest.* is missing"},
		{data, []string{"listen=" + taken.Addr().String()}, "listen: " + taken.Addr().String()},
		{data, []string{"admin=" + taken.Addr().String()}, "admin: " + taken.Addr().String()},
		{filepath.Join(file, "data"), nil, file},
		{badTimelines, nil, datadir.TimelinesDir},
		{badRecords, nil, "not a database"},
		{lostFiles, nil, filesDir + " is missing"},
	} {
		h, err := Open(t.Context(), configure(t, tc.data, tc.set...), slog.New(slog.DiscardHandler))
		if err == nil {
			t.Errorf("the node starts with %v, want an error", tc)
			_ = h.Close() // it is a fault already
			continue
		}
		if !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q does not contain %q", err, tc.says)
		}
		noneLeft(t)
	}
	h, err := Open(t.Context(), configure(t, data), slog.New(slog.DiscardHandler)) // the lock is free
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// TestAFailedServiceIsReported: the failure of a service is reported, so that the process can end instead of running without it.
func TestAFailedServiceIsReported(t *testing.T) {
	h, _ := open(t)
	if err := h.listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := eventually.Receive(t, "the failure of the node", h.Failed()); !strings.HasPrefix(err.Error(), "listener: ") {
		t.Errorf("it failed with %v", err)
	}
	_ = h.Close() // it reports the listener again
}

// TestDamageOfTheDatabaseStopsTheNode: with a message that names the file and says what to do.
func TestDamageOfTheDatabaseStopsTheNode(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for range 2 { // the second has a database file whose pages are all written
		h, err := Open(t.Context(), configure(t, data), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	h, err := Open(t.Context(), configure(t, data), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(data, recordsFile), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(make([]byte, 4096), info.Size()/4096/2*4096)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if found, err := sqldb.CheckPages(t.Context(), h.db.Read(), false); len(found) == 0 {
		t.Fatalf("the pages are sound (%v)", err)
	}
	if text := eventually.Receive(t, "the failure of the node", h.Failed()).Error(); !strings.Contains(text, recordsFile) || !strings.Contains(text, "is no longer served") || !strings.Contains(text, "rialto verify") {
		t.Errorf("it failed with %s", text)
	}
	_ = h.Close() // it reports the damage again
	if _, err := Open(t.Context(), configure(t, data), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "is not served") {
		t.Errorf("the next start: %v", err)
	}
}

// TestAdminEndpoints: metrics change, readiness follows the database, and the public listener serves none of it.
func TestAdminEndpoints(t *testing.T) {
	h, _ := open(t)
	admin := "http://" + h.AdminAddress().String()
	c := client(t, h)
	if err := c.Register(t.Context(), "alice", "a good password", "Alice"); err != nil {
		t.Fatal(err)
	}
	running(t, c)
	group, err := c.Chat().CreateGroup(t.Context(), connect.NewRequest(&chatv1.CreateGroupRequest{Title: "alone"}))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := c.SendText(t.Context(), group.Msg.Id, "hello"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.SendText(t.Context(), group.Msg.Id+1, "hello"); err == nil {
		t.Error("a conversation of others accepts a message")
	}
	for _, name := range []string{"/rialto.chat.v1.ChatService/CreateGroup", "/rialto.chat.v1.ChatService/MadeUp"} { // without credentials; unknown
		r, err := http.Post(url(h)+name, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
	}
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		r, err := http.NewRequestWithContext(t.Context(), method, url(h)+"/v1/media/1", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	_, text := get(t, admin+"/metrics")
	for _, want := range []string{`rialto_connections 1`, `rialto_connections_accepted_total 1`, `rialto_users_online 1`, `rialto_sends_total 4`, `rialto_receipts_total 4`,
		`rialto_socket_bytes_in_total [1-9]`, `rialto_socket_bytes_out_total [1-9]`, `rialto_connections_refused_total 0`, `rialto_build_info\{commit=".+",committed=".+",go="go1.+",version=".+"\} 1`,
		`rialto_call_seconds_count\{call="send"\} 4`, `rialto_call_seconds_bucket\{call="send",le="\+Inf"\} 4`, `rialto_calls_total\{call="send",code="ok"\} 3`,
		`rialto_calls_total\{call="/rialto.chat.v1.ChatService/CreateGroup",code="ok"\} 1`, `rialto_call_seconds_sum\{call="/rialto.chat.v1.ChatService/CreateGroup"\} \d`,
		`rialto_calls_total\{call="/rialto.chat.v1.ChatService/CreateGroup",code="unauthenticated"\} 1`, `rialto_calls_total\{call="send",code="not_found"\} 1`,
		`rialto_calls_total\{call="other",code="unimplemented"\} 1`, `rialto_calls_total\{call="GET /v1/media/",code="permission_denied"\} 1`, `rialto_call_seconds_count\{call="PUT /v1/media/"\} 1`, `go_goroutines [1-9]`, `process_open_fds [1-9]`} {
		if !regexp.MustCompile(`(?m)^` + want).MatchString(text) {
			t.Errorf("the figures have no line %q", want)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/debug/pprof/", "/debug/pprof/heap?debug=1"} {
		if code, _ := get(t, admin+path); code != 200 {
			t.Errorf("%s of the admin listener: %d", path, code)
		}
	}
	public(t, url(h), map[string]int{"/readyz": 200, "/healthz": 200})
	h.leaving.Store(true)
	public(t, url(h), map[string]int{"/readyz": 503, "/healthz": 200})
	h.leaving.Store(false)
	public(t, url(h), map[string]int{"/readyz": 200})
	if err := h.db.Close(); err != nil {
		t.Fatal(err)
	}
	if code, text := get(t, admin+"/readyz"); code != 503 || !strings.Contains(text, `"ready":false`) {
		t.Errorf("readiness without the database: got %d, %s", code, text)
	}
	h.readiness.at = time.Time{} // it was queried within the same second
	if code, text := get(t, url(h)+"/readyz"); code != 503 || strings.TrimSpace(text) != "not ready" {
		t.Errorf("public readiness without the database: got %d, %s", code, text)
	}
	_ = h.Close() // its records are closed already
}

// public checks what the public listener has: the page, its files, the calls, and else nothing.
func public(t *testing.T, at string, want map[string]int) {
	t.Helper()
	maps.Copy(want, map[string]int{"/": 200, "/v1/openapi.json": 200, "/metrics": 404, "/debug/pprof/": 404, "/debug/pprof/heap": 404, "/v1/nothing": 404, "/v1": 404,
		"/nothing": 404, "/readyz/": 404, "/assets/": 404, "/assets/nothing.js": 404, "/assets": 404, "/../go.mod": 404, "/index.html/x": 404})
	if _, built := web.Files(); built {
		want["/sw.js"] = 200
	}
	for path, code := range want {
		got, text := get(t, at+path)
		if got != code || strings.Contains(text, `"ready"`) || code == 404 && strings.Contains(text, "<html") {
			t.Errorf("%s of the public listener is %d, %.80q, want %d", path, got, text, code)
		}
		res, err := http.Post(at+path, "text/plain", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusMethodNotAllowed && res.StatusCode != 404 && path != "/v1/openapi.json" {
			t.Errorf("a POST to %s is %d", path, res.StatusCode)
		}
	}
}

// TestAdminKeys: keys are created, listed and revoked beside a running server, which applies the change within a second.
func TestAdminKeys(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	admin := func(args ...string) (int, string, string) {
		var out, errOut strings.Builder
		code := AdminMain(t.Context(), args, &out, &errOut)
		return code, out.String(), errOut.String()
	}
	if code, _, errOut := admin("key", "list", "--data", data); code != 1 || !strings.Contains(errOut, "server that has run") {
		t.Errorf("without a directory: %d, %q", code, errOut)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("check created the data directory")
	}
	h, err := Open(t.Context(), configure(t, data), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	put := func(key string) error {
		r := connect.NewRequest(&accountv1.PutUserRequest{ExternalId: "7", Handle: "seven", DisplayName: "Seven"})
		r.Header().Set("Authorization", "Bearer "+key)
		_, err := accountv1connect.NewAdminServiceClient(http.DefaultClient, url(h)).PutUser(t.Context(), r)
		return err
	}
	code, key, _ := admin("key", "create", "--data", data, "--name", "shop")
	key = strings.TrimSpace(key)
	if code != 0 || !strings.HasPrefix(key, "rk_") {
		t.Fatalf("create: %d, %q", code, key)
	}
	if err := put(key); err != nil {
		t.Errorf("the key is rejected: %v", err)
	}
	if code, out, _ := admin("key", "list", "--data", data); code != 0 || !regexp.MustCompile(`^shop\tserver\t20\S+Z\n$`).MatchString(out) {
		t.Errorf("list: %d, %q", code, out)
	}
	if code, _, errOut := admin("key", "revoke", "--data", data, "--name", "ship"); code != 1 || !strings.Contains(errOut, `"ship"`) {
		t.Errorf("revoking a missing key: %d, %q", code, errOut)
	}
	if code, out, _ := admin("key", "revoke", "--data", data, "--name", "shop"); code != 0 || out != "1 key revoked\n" {
		t.Errorf("revoke: %d, %q", code, out)
	}
	err = put(key)
	for err == nil { // the server checks once a second
		err = put(key)
	}
	if connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("a revoked key: got %v", err)
	}
	for _, args := range [][]string{nil, {"key"}, {"user", "create"}, {"key", "nope"}, {"key", "create"}, {"key", "create", "--name", "x", "y"}, {"key", "list", "--name", "x"}} {
		if code, out, errOut := admin(args...); code != 2 || out != "" || errOut == "" {
			t.Errorf("%v: exit code %d, output %q, errors %q; want 2, no output, and an error", args, code, out, errOut)
		}
	}
	for line, want := range map[string]string{
		"":                                   "rialto admin: a command is missing\n\nUsage:",
		"foo list":                           `rialto admin: unknown command "foo"`,
		"jobs":                               "rialto admin jobs: a command is missing\n\nUsage:\n  rialto admin jobs list",
		"jobs foo":                           `rialto admin jobs: unknown command "foo"`,
		"keys list":                          `rialto admin: unknown command "keys"; did you mean "key"?`,
		"key craete --name x":                `rialto admin key: unknown command "craete"; did you mean "create"?`,
		"jobs list --limit 0":                "the number must be from 1 to 1000",
		"transactions list --limit -1":       "the number must be from 1 to 1000",
		"key create --name b --bot @bob2":    "--bot takes the id that PutUser returned",
		"key create --name b --bridge irc":   "rialto admin key create: --bridge needs --bot USER\n",
		"key create --name b --role servant": "a role is auditor, moderator or operator",
	} {
		if code, out, errOut := admin(strings.Fields(line)...); code != 2 || out != "" || !strings.Contains(errOut, want) {
			t.Errorf("%q: exit code %d, output %q, errors %q; want 2, no output, and an error with %q", line, code, out, errOut, want)
		}
	}
	if code, _, errOut := admin("key", "create", "--data", data, "--name", "b", "--bot", "5"); code != 1 || errOut != "rialto admin: there is no user 5\n" {
		t.Errorf("a bot that is nobody: %d, %q", code, errOut)
	}
	if code, out, _ := admin("jobs", "--help"); code != 0 || !strings.Contains(out, "admin jobs retry") || strings.Contains(out, "admin key") {
		t.Errorf("the help of jobs: %d, %q", code, out)
	}
	for _, args := range [][]string{{"--help"}, {"key", "--help"}, {"key", "create", "--help"}} {
		if code, out, errOut := admin(args...); code != 0 || errOut != "" || !strings.Contains(out, "rialto admin key create") {
			t.Errorf("%v: exit code %d, output %q, errors %q; want 0 and the usage", args, code, out, errOut)
		}
	}
}

// TestCheck: rialto check reports all faults and starts nothing.
func TestCheck(t *testing.T) {
	check := func(args ...string) (int, string, string) {
		var out, errOut strings.Builder
		code := CheckMain(args, &out, &errOut)
		return code, out.String(), errOut.String()
	}
	data := filepath.Join(t.TempDir(), "data")
	if code, out, _ := check("--data", data); code != 0 || !strings.Contains(out, "is valid") {
		t.Errorf("a valid configuration: got exit code %d, %q", code, out)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("check created the data directory")
	}
	code, _, errOut := check("--listen", "0.0.0.0:1", "--admin", "x", "--set", "gateway.loops=x", "--data", data, "--set", "backup.directory="+filepath.Join(data, "backups"))
	if code != 2 || !strings.Contains(errOut, "backup.directory: ") || !strings.Contains(errOut, "plaintext=true") || !strings.Contains(errOut, "admin: ") || !strings.Contains(errOut, "gateway.loops: ") {
		t.Errorf("three errors: got exit code %d, %q", code, errOut)
	}
	for address, want := range map[string]string{"postgres://canary:canary@db/x": "rialto: the configuration is invalid:\npostgres: ", "postgres://canary:canary@db/x?sslmode=require": "rialto: warning: postgres: ", "postgres://canary:canary@db/x?sslmode=verify-full": ""} {
		code, _, errOut := check("--set", "postgres="+address)
		if (code != 0) != strings.Contains(want, "invalid") || !strings.HasPrefix(errOut, want) || want == "" && errOut != "" || strings.Contains(errOut, "canary") {
			t.Errorf("check of postgres=%s: got exit code %d, %q, want the expected warning or error, without the password", address, code, errOut)
		}
	}
	if code, out, _ := check("--reference"); code != 0 || !strings.Contains(out, "gateway.heartbeat") || !strings.Contains(out, "5 s") {
		t.Errorf("--reference: got exit code %d, %q", code, out)
	}
	builtIn, _ := pipeline.Text("")
	if code, out, _ := check("--pipeline"); code != 0 || out != builtIn {
		t.Errorf("--pipeline: got exit code %d, %q", code, out)
	}
	own := filepath.Join(t.TempDir(), "pipeline.yaml")
	for text, want := range map[string]int{"thumbnails: 5\n": 0, "thumbnails: 500\n": 2} {
		if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errOut := check("--pipeline", "--set", "video.pipeline="+own)
		if code != want || (code == 0) != (out == text) || (code != 0) != strings.Contains(errOut, "video.pipeline: "+own+": thumbnails is 500") {
			t.Errorf("--pipeline of %q: got exit code %d, %q, %q", text, code, out, errOut)
		}
	}
	if code, out, errOut := check("--nope"); code != 2 || out != "" || !strings.Contains(errOut, "-nope") || !strings.Contains(errOut, "--help") {
		t.Errorf("an unknown flag: got exit code %d, %q", code, errOut)
	}
}

// TestServeWarnsOfUnverifiedTLS at the start, as rialto check does.
func TestServeWarnsOfUnverifiedTLS(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, set := range [][]string{{"postgres=postgres://canary:canary@db.invalid/x?sslmode=require"}, {"postgres=postgres://canary:canary@db.invalid/x", "plaintext_engines=postgres"}} {
		args := []string{"--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0"}
		for _, s := range set {
			args = append(args, "--set", s)
		}
		var out, errOut strings.Builder
		if code := ServeMain(stopped, "", args, &out, &errOut); code != 1 || !strings.Contains(errOut.String(), "a setting is not as safe as it could be") || !strings.Contains(errOut.String(), "postgres: ") || strings.Contains(errOut.String(), "canary") {
			t.Errorf("%q: exit code %d, want 1; warnings %s, want one of postgres and none of the canary", set, code, errOut.String())
		}
	}
}

// TestServeErrorsAndExitCodes: serve exits with the documented codes.
func TestServeErrorsAndExitCodes(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	data := filepath.Join(t.TempDir(), "data")
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--data", data, "--listen", ":7070"}, 2, "tls.cert"},
		{[]string{"--data", data, "--set", "x=1"}, 2, `"x"`},
		{[]string{"--data", data, "--config", filepath.Join(data, "none.yaml")}, 2, "none.yaml"},
		{[]string{"data"}, 2, `"data"`},
		{[]string{"--data", data, "--listen", "127.0.0.1:0"}, 1, "before it was ready"},
	} {
		var out, errOut strings.Builder
		if code := ServeMain(stopped, "", tc.args, &out, &errOut); code != tc.code || out.Len() > 0 || !strings.Contains(errOut.String(), tc.says) {
			t.Errorf("%v: exit code %d, output %q, errors %q; want %d, no output, and an error with %q", tc.args, code, out.String(), errOut.String(), tc.code, tc.says)
		}
		noneLeft(t)
	}
}

// TestAPanicIsLogged, at the level that everybody reads, and ends one request only.
func TestAPanicIsLogged(t *testing.T) {
	h, log := open(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.startHTTP("other", l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			panic("out of order")
		}
	}), false, func() {})
	if r, err := http.Get("http://" + l.Addr().String() + "/bad"); err == nil {
		r.Body.Close()
		t.Errorf("a request that panics: got status %s, want a closed connection", r.Status)
	}
	if code, _ := get(t, "http://"+l.Addr().String()+"/good"); code != 200 {
		t.Errorf("the request after a panic: got status %d, want 200", code)
	}
	if !regexp.MustCompile(`level=ERROR msg="a request panicked" detail=".*out of order`).MatchString(log.String()) {
		t.Errorf("log of a panic: got %s", log)
	}
}
