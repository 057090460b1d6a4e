package lint_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func project(t *testing.T, file string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{file}, cli.WithEnv([]string{"POSTGRES_PASSWORD=a-password", "S3_SECRET=another-password"}))
	must(t, err)
	p, err := options.LoadProject(context.Background())
	must(t, err)
	return p
}

// Compose's own loader accepts the schema and the cross-references, and the server accepts the settings.
func TestComposeFilesAreValid(t *testing.T) {
	for file, nodes := range map[string]int{"one.yaml": 1, "three.yaml": 3} {
		p := project(t, "../compose/"+file)
		for name, s := range p.Services {
			for _, port := range s.Ports {
				if port.HostIP != "127.0.0.1" {
					t.Errorf("%s: %s publishes a port beyond loopback: %v", file, name, port)
				}
			}
			for _, v := range s.Volumes {
				if v.Type == types.VolumeTypeBind {
					_, err := os.Stat(v.Source)
					must(t, err)
				}
			}
			if !strings.HasPrefix(name, "rialto") {
				continue
			}
			nodes--
			var env []string
			for k, v := range s.Environment {
				env = append(env, k+"="+*v)
			}
			checkSettings(t, "", env)
			if !s.ReadOnly || len(s.CapDrop) == 0 {
				t.Errorf("%s: %s needs read_only and cap_drop", file, name)
			}
		}
		if nodes != 0 {
			t.Errorf("%s: the number of nodes differs by %d", file, nodes)
		}
		for name, c := range p.Configs {
			_, err := os.Stat(c.File)
			if err != nil {
				t.Errorf("%s: %s: %v", file, name, err)
			}
		}
	}
}

// The Compose file has no default passwords: without them it fails and says how to generate them.
func TestComposeNeedsItsSecrets(t *testing.T) {
	options, err := cli.NewProjectOptions([]string{"../compose/three.yaml"})
	must(t, err)
	if _, err := options.LoadProject(context.Background()); err == nil || !strings.Contains(err.Error(), "openssl rand") {
		t.Errorf("without passwords: got %v, want an error with a command", err)
	}
}

// The scripts are valid bash. Package standby runs them.
func TestShellScriptsParse(t *testing.T) {
	for _, script := range []string{"primary.sh", "standby.sh"} {
		out, err := exec.Command("bash", "-n", "../compose/postgres/"+script).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v %s", script, err, out)
		}
	}
}
