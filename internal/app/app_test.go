package app

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/gen/rialto/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
)

// TestAHouseLeavesNothingBehind: no goroutine, and a directory that opens again with what was stored.
func TestAHouseLeavesNothingBehind(t *testing.T) {
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

// TestWhatCannotStartLeavesNothingBehind, however far it came.
func TestWhatCannotStartLeavesNothingBehind(t *testing.T) {
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
	if err := os.WriteFile(filepath.Join(badTimelines, timelinesDir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	badRecords := filepath.Join(t.TempDir(), "bad")
	if err := os.MkdirAll(badRecords, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(badRecords, recordsFile), []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		data string
		set  []string
		says string
	}{
		{data, []string{"listen=" + taken.Addr().String()}, "listen: " + taken.Addr().String()},
		{data, []string{"admin=" + taken.Addr().String()}, "admin: " + taken.Addr().String()},
		{filepath.Join(file, "data"), nil, file},
		{badTimelines, nil, timelinesDir},
		{badRecords, nil, "not a database"},
	} {
		h, err := Open(t.Context(), configure(t, tc.data, tc.set...), slog.New(slog.DiscardHandler))
		if err == nil {
			t.Errorf("%v starts", tc)
			_ = h.Close() // it is a fault already
			continue
		}
		if !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q does not say %q", err, tc.says)
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

// TestAPartThatFailsIsTold, so that the process can end rather than go on without it.
func TestAPartThatFailsIsTold(t *testing.T) {
	h, _ := open(t)
	if err := h.listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-h.Failed(); !strings.HasPrefix(err.Error(), "listener: ") {
		t.Errorf("it failed with %v", err)
	}
	_ = h.Close() // it tells of the listener again
}

// TestTheDoorsOfOperators: figures move, readiness follows the records, and none of it is at the public door.
func TestTheDoorsOfOperators(t *testing.T) {
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
	_, text := get(t, admin+"/metrics")
	for _, want := range []string{`rialto_connections 1`, `rialto_connections_accepted_total 1`, `rialto_users_online 1`, `rialto_sends_total 3`, `rialto_receipts_total 3`,
		`rialto_socket_bytes_in_total [1-9]`, `rialto_socket_bytes_out_total [1-9]`, `rialto_connections_refused_total 0`, `go_goroutines [1-9]`, `process_open_fds [1-9]`} {
		if !regexp.MustCompile(`(?m)^` + want).MatchString(text) {
			t.Errorf("the figures have no line %q", want)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/debug/pprof/", "/debug/pprof/heap?debug=1"} {
		if code, _ := get(t, admin+path); code != 200 {
			t.Errorf("%s of the admin listener: %d", path, code)
		}
	}
	for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/", "/debug/pprof/heap"} {
		if _, text := get(t, url(h)+path); strings.Contains(text, "goroutine") || strings.Contains(text, "ready\":") || strings.Contains(text, "heap profile") {
			t.Errorf("%s is public: %.80q", path, text)
		}
	}
	if err := h.db.Close(); err != nil {
		t.Fatal(err)
	}
	if code, text := get(t, admin+"/readyz"); code != 503 || !strings.Contains(text, `"ready":false`) {
		t.Errorf("without records it is %d, %s", code, text)
	}
	_ = h.Close() // its records are closed already
}

// TestAdminKeys are made, listed and ended beside a running server, which obeys within a second.
func TestAdminKeys(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	admin := func(args ...string) (int, string, string) {
		var out, errOut strings.Builder
		code := AdminMain(t.Context(), args, &out, &errOut)
		return code, out.String(), errOut.String()
	}
	if code, _, errOut := admin("key", "list", "--data", data); code != 1 || !strings.Contains(errOut, "has run once") {
		t.Errorf("without a directory: %d, %q", code, errOut)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("it has made the directory")
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
		t.Errorf("the key is not taken: %v", err)
	}
	if code, out, _ := admin("key", "list", "--data", data); code != 0 || out != "shop\n" {
		t.Errorf("list: %d, %q", code, out)
	}
	if code, _, errOut := admin("key", "revoke", "--data", data, "--name", "ship"); code != 1 || !strings.Contains(errOut, `"ship"`) {
		t.Errorf("revoking what is not there: %d, %q", code, errOut)
	}
	if code, out, _ := admin("key", "revoke", "--data", data, "--name", "shop"); code != 0 || out != "1 keys ended\n" {
		t.Errorf("revoke: %d, %q", code, out)
	}
	err = put(key)
	for err == nil { // the server looks once in a second
		err = put(key)
	}
	if connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("an ended key gives %v", err)
	}
	for _, args := range [][]string{nil, {"key"}, {"user", "create"}, {"key", "nope"}, {"key", "create"}, {"key", "create", "--name", "x", "y"}, {"key", "list", "--name", "x"}} {
		if code, out, errOut := admin(args...); code != 2 || out != "" || errOut == "" {
			t.Errorf("%v: %d, %q, %q", args, code, out, errOut)
		}
	}
	for _, args := range [][]string{{"--help"}, {"key", "--help"}, {"key", "create", "--help"}} {
		if code, out, errOut := admin(args...); code != 0 || errOut != "" || !strings.Contains(out, "rialto admin key create") {
			t.Errorf("%v: %d, %q, %q", args, code, out, errOut)
		}
	}
}

// TestCheck says all faults, and starts nothing.
func TestCheck(t *testing.T) {
	check := func(args ...string) (int, string, string) {
		var out, errOut strings.Builder
		code := CheckMain(args, &out, &errOut)
		return code, out.String(), errOut.String()
	}
	data := filepath.Join(t.TempDir(), "data")
	if code, out, _ := check("--data", data); code != 0 || !strings.Contains(out, "can be used") {
		t.Errorf("a good one: %d, %q", code, out)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("it has made the directory")
	}
	code, _, errOut := check("--listen", "0.0.0.0:1", "--admin", "x", "--set", "gateway.loops=x")
	if code != 2 || !strings.Contains(errOut, "plaintext=true") || !strings.Contains(errOut, "admin: ") || !strings.Contains(errOut, "gateway.loops: ") {
		t.Errorf("three faults: %d, %q", code, errOut)
	}
	if code, out, _ := check("--reference"); code != 0 || !strings.Contains(out, "gateway.heartbeat") || !strings.Contains(out, "5 s") {
		t.Errorf("the reference: %d, %q", code, out)
	}
	if code, out, errOut := check("--nope"); code != 2 || out != "" || !strings.Contains(errOut, "-nope") || !strings.Contains(errOut, "--help") {
		t.Errorf("an unknown flag: %d, %q", code, errOut)
	}
}

// TestServeSaysWhatIsWrong and gives the codes that it documents.
func TestServeSaysWhatIsWrong(t *testing.T) {
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
		if code := ServeMain(stopped, tc.args, &out, &errOut); code != tc.code || out.Len() > 0 || !strings.Contains(errOut.String(), tc.says) {
			t.Errorf("%v: %d, %q, %q", tc.args, code, out.String(), errOut.String())
		}
		noneLeft(t)
	}
}

// TestAPanicIsInTheLog, at the level that everybody reads, and ends one request only.
func TestAPanicIsInTheLog(t *testing.T) {
	h, log := open(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.run("other", l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			panic("out of order")
		}
	}), false)
	if r, err := http.Get("http://" + l.Addr().String() + "/bad"); err == nil {
		r.Body.Close()
		t.Errorf("it is answered %s", r.Status)
	}
	if code, _ := get(t, "http://"+l.Addr().String()+"/good"); code != 200 {
		t.Errorf("the next request is answered %d", code)
	}
	if !regexp.MustCompile(`level=ERROR msg="a request panicked" detail=".*out of order`).MatchString(log.String()) {
		t.Errorf("the log has %s", log)
	}
}
