package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rialto-im/rialto/deploy/nodetest"
)

type object = map[string]any

// bundle is the configuration of a container, as the runtime specification of OCI has it: no capabilities and no new privileges, the image's user, and a root file system that is
// read-only but for the data and /tmp. The network is that of the test.
func bundle(user int, args, env []string, cwd, data string) object {
	none := []string{}
	mount := func(to, kind, source string, options ...string) object {
		return object{"destination": to, "type": kind, "source": source, "options": options}
	}
	return object{
		"ociVersion": "1.0.2",
		"root":       object{"path": "rootfs", "readonly": true},
		"process": object{
			"user": object{"uid": user, "gid": user}, "args": args, "env": env, "cwd": cwd, "noNewPrivileges": true,
			"capabilities": object{"bounding": none, "effective": none, "inheritable": none, "permitted": none, "ambient": none},
			"rlimits":      []object{{"type": "RLIMIT_NOFILE", "soft": 4096, "hard": 4096}},
		},
		"mounts": []object{
			mount("/proc", "proc", "proc"),
			mount("/dev", "tmpfs", "tmpfs", "nosuid", "noexec", "mode=755", "size=64k"),
			mount("/tmp", "tmpfs", "tmpfs", "nosuid", "nodev", "noexec", "mode=1777", "size=64m"),
			mount("/"+dataDir, "bind", data, "bind", "rw", "nosuid", "nodev", "noexec"),
		},
		"linux": object{
			"namespaces":    []object{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}},
			"maskedPaths":   []string{"/proc/kcore", "/proc/keys", "/proc/timer_list"},
			"readonlyPaths": []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}
}

// runtimeOf returns the path of runc, and skips the test, with what is missing, where no container can be started.
func runtimeOf(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("runc is missing: scripts/setup.sh test installs it where apt-get does")
	}
	if os.Getuid() != 0 {
		t.Skip("runc needs root here: the test owns files of the image's user")
	}
	return path
}

// The image runs under a container runtime with a read-only root, without capabilities and without new privileges: it serves, its command makes a key, a call with that stores a
// user, and it stops cleanly.
func TestTheImageRunsInAContainer(t *testing.T) {
	runc := runtimeOf(t)
	dir, data := t.TempDir(), t.TempDir()
	must(t, os.Chown(data, user, user))
	for _, d := range []string{dir, filepath.Dir(dir), data} { // the image's user needs access
		must(t, os.Chmod(d, 0o755))
	}
	var errOut strings.Builder
	if code := run([]string{"-binary", nodetest.Static(t), "-root", filepath.Join(dir, "rootfs")}, io.Discard, &errOut); code != 0 {
		t.Fatal(code, errOut.String())
	}
	c := container()
	args := append(slices.Concat(c.Entrypoint, c.Cmd), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	text, err := json.Marshal(bundle(user, args, c.Env, c.WorkingDir, data))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600))
	name, state := fmt.Sprint("rialto-test-", os.Getpid()), t.TempDir()
	command := func(verb string, args ...string) *exec.Cmd {
		return exec.Command(runc, append([]string{"--root", state, verb}, args...)...)
	}
	t.Cleanup(func() {
		if out, err := command("delete", "--force", name).CombinedOutput(); err != nil {
			t.Errorf("removing the container: %v %s", err, out)
		}
	})
	preflight(t, command, dir, text, c.Entrypoint[0])
	n := nodetest.Start(t, command("run", "--bundle", dir, name))
	for _, url := range []string{n.URL + "/healthz", n.Admin + "/readyz"} {
		if status, body := nodetest.Answer(t, url); status != 200 {
			t.Errorf("%s: got %d %s, want 200", url, status, body)
		}
	}
	checkConfinement(t, command, name)
	key, err := command("exec", "--user", fmt.Sprint(user), name, c.Entrypoint[0], "admin", "key", "create", "--data", "/"+dataDir, "--name", "smoke").Output()
	must(t, err)
	r, err := http.NewRequest(http.MethodPost, n.URL+"/rialto.account.v1.AdminService/PutUser", strings.NewReader(`{"externalId":"1","displayName":"Ann"}`))
	must(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(key)))
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != 200 || !bytes.Contains(body, []byte(`"Ann"`)) {
		t.Errorf("PutUser: got %d %s", answer.StatusCode, body)
	}
	if out, err := command("kill", name, "TERM").CombinedOutput(); err != nil {
		t.Errorf("runc kill: %v %s", err, out)
	}
	if code := n.Ended(); code != 0 {
		t.Errorf("exit code after SIGTERM: got %d, want 0", code)
	}
	info, err := os.Stat(filepath.Join(data, "records.db"))
	must(t, err)
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != user {
		t.Errorf("owner of the database file: got %d, want %d", owner, user)
	}
}

// preflight runs rialto version in a container. Where a sandbox forbids that, the test is skipped with what the runtime says; the program itself must not fail.
func preflight(t *testing.T, command func(verb string, args ...string) *exec.Cmd, dir string, config []byte, program string) {
	t.Helper()
	var c object
	must(t, json.Unmarshal(config, &c))
	c["process"].(object)["args"] = []string{program, "version"}
	text, err := json.Marshal(c)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600))
	out, err := command("run", "--bundle", dir, fmt.Sprint("rialto-preflight-", os.Getpid())).CombinedOutput()
	must(t, os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600))
	if err != nil && bytes.Contains(out, []byte("runc")) && bytes.Contains(out, []byte("not permitted")) {
		t.Skipf("this machine does not let runc start a container: %s", out)
	}
	if err != nil || !bytes.Contains(out, []byte("rialto")) {
		t.Fatalf("rialto version in a container: %v %s", err, out)
	}
}

// checkConfinement looks at the process of a container from outside.
func checkConfinement(t *testing.T, command func(verb string, args ...string) *exec.Cmd, name string) {
	t.Helper()
	out, err := command("state", name).Output()
	must(t, err)
	var state struct{ Pid int }
	must(t, json.Unmarshal(out, &state))
	status, err := os.ReadFile(fmt.Sprint("/proc/", state.Pid, "/status"))
	must(t, err)
	for _, want := range []string{`Uid:\t65532\t65532\t65532\t65532`, `CapPrm:\t0000000000000000`, `CapEff:\t0000000000000000`, `CapBnd:\t0000000000000000`, `NoNewPrivs:\t1`} {
		if !regexp.MustCompile(want).Match(status) {
			t.Errorf("the process has not %q:\n%s", want, status)
		}
	}
	mounts, err := os.ReadFile(fmt.Sprint("/proc/", state.Pid, "/mountinfo"))
	must(t, err)
	if !regexp.MustCompile(`(?m)^\S+ \S+ \S+ \S+ / ro[, ]`).Match(mounts) {
		t.Errorf("the root file system is not read-only:\n%s", mounts)
	}
}
