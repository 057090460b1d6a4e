package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Without flags, a command uses the directory or the database of the environment, as serve does: in a container, those of its server.
func TestCommandsUseTheEnvironment(t *testing.T) {
	data, elsewhere := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "elsewhere")
	t.Setenv("RIALTO_DATA", data)
	admin := func(line string) (int, string, string) {
		t.Helper()
		var out, errOut strings.Builder
		code := AdminMain(t.Context(), strings.Fields(line), &out, &errOut)
		return code, out.String(), errOut.String()
	}
	if code, out, errOut := admin("key create --name shop"); code != 0 || !strings.HasPrefix(out, "rk_") || !strings.Contains(errOut, data) {
		t.Fatalf("a key: %d, %q, %q", code, out, errOut)
	}
	if _, err := os.Stat(filepath.Join(data, recordsFile)); err != nil {
		t.Error(err)
	}
	if code, out, errOut := admin("key list"); code != 0 || !strings.HasPrefix(out, "shop\t") {
		t.Errorf("the keys: %d, %q, %q", code, out, errOut)
	}
	if code, _, errOut := admin("jobs list"); code != 0 {
		t.Errorf("the jobs: %d, %q", code, errOut)
	}
	if code, _, errOut := admin("activity show"); code != 0 {
		t.Errorf("the activity: %d, %q", code, errOut)
	}
	if code, _, errOut := admin("key list --data " + elsewhere); code != 1 || !strings.Contains(errOut, elsewhere) {
		t.Errorf("the keys of another directory: %d, %q", code, errOut)
	}
	t.Setenv("RIALTO_POSTGRES", "postgres://127.0.0.1:1/none?connect_timeout=1")
	if code, _, errOut := admin("key list"); code != 1 || !strings.Contains(errOut, "127.0.0.1") {
		t.Errorf("the keys in a database that is away: %d, %q", code, errOut)
	}
	if code, out, errOut := admin("key list --data " + data); code != 0 || !strings.HasPrefix(out, "shop\t") {
		t.Errorf("the keys of a directory: %d, %q, %q", code, out, errOut)
	}
}
