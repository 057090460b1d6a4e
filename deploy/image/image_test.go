package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/rialto-im/rialto/deploy/nodetest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// build packs the server, and returns the path of the tar and the printed digest.
func build(t *testing.T) (file, digest string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "rialto.tar")
	var out, errOut strings.Builder
	if code := run([]string{"-binary", nodetest.Static(t), "-out", file}, &out, &errOut); code != 0 {
		t.Fatal(code, errOut.String())
	}
	return file, strings.TrimSpace(out.String())
}

// extract unpacks a tar into a directory, as a container engine does.
func extract(t *testing.T, from io.Reader, to string) {
	t.Helper()
	r := tar.NewReader(from)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		path := filepath.Join(to, h.Name)
		if h.Typeflag == tar.TypeDir {
			must(t, os.MkdirAll(path, 0o755))
		} else {
			body, err := io.ReadAll(r)
			must(t, err)
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(path, body, 0o644))
		}
		if os.Getuid() == 0 {
			must(t, os.Chown(path, h.Uid, h.Gid))
		}
		must(t, os.Chmod(path, h.FileInfo().Mode()))
	}
}

// open reads a layout with the library that registry tools use.
func open(t *testing.T, file string) (v1.Image, v1.Hash) {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	extract(t, f, dir)
	path, err := layout.FromPath(dir)
	must(t, err)
	top, err := path.ImageIndex()
	must(t, err)
	list, err := top.IndexManifest()
	must(t, err)
	if len(list.Manifests) != 1 {
		t.Fatalf("%d images", len(list.Manifests))
	}
	image, err := path.Image(list.Manifests[0].Digest)
	must(t, err)
	return image, list.Manifests[0].Digest
}

// Two builds of the same input have the same bytes and digest, so that anyone can rebuild the image and compare.
func TestBuildsAreReproducible(t *testing.T) {
	first, digest := build(t)
	second, again := build(t)
	a, err := os.ReadFile(first)
	must(t, err)
	b, err := os.ReadFile(second)
	must(t, err)
	if digest != again || !slices.Equal(a, b) {
		t.Errorf("two builds of the same input differ: digests %s and %s", digest, again)
	}
}

// Digests, sizes and media types follow the OCI image specification.
func TestTheImageFollowsTheSpecification(t *testing.T) {
	file, digest := build(t)
	image, listed := open(t, file)
	must(t, validate.Image(image))
	if computed, err := image.Digest(); err != nil || computed.String() != digest || listed != computed {
		t.Errorf("digest: printed %s, listed %s, computed %s, %v", digest, listed, computed, err)
	}
}

// With only the files, the user and the command of the image, the server starts, and stops after SIGTERM.
func TestTheImageStarts(t *testing.T) {
	file, _ := build(t)
	image, _ := open(t, file)
	root := t.TempDir()
	must(t, os.Chmod(root, 0o755)) // the image's user needs access to this folder and to the one above
	must(t, os.Chmod(filepath.Dir(root), 0o755))
	files := mutate.Extract(image)
	defer files.Close()
	extract(t, files, root)
	config, err := image.ConfigFile()
	must(t, err)
	var id uint32
	if _, err := fmt.Sscanf(config.Config.User, "%d:%d", &id, &id); err != nil || id == 0 {
		t.Fatalf("the image's user is %s (%v), want numbers other than 0", config.Config.User, err)
	}
	attributes := &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: id, Gid: id}, Pdeathsig: syscall.SIGKILL}
	if us := os.Getuid(); us != 0 { // a user namespace permits chroot without root
		attributes.Cloneflags, attributes.Credential.NoSetGroups = syscall.CLONE_NEWUSER, true
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(id), HostID: us, Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(id), HostID: os.Getgid(), Size: 1}}
	}
	args := append(slices.Clone(config.Config.Entrypoint), config.Config.Cmd...)
	cmd := &exec.Cmd{Path: args[0], Args: append(args, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"), Dir: config.Config.WorkingDir, Env: config.Config.Env, SysProcAttr: attributes}
	n := nodetest.Start(t, cmd)
	for _, url := range []string{n.URL + "/healthz", n.Admin + "/readyz"} {
		if status, body := nodetest.Answer(t, url); status != 200 {
			t.Errorf("%s: got %d %s, want 200", url, status, body)
		}
	}
	info, err := os.Stat(filepath.Join(root, dataDir, "records.db"))
	must(t, err)
	if owner := info.Sys().(*syscall.Stat_t).Uid; os.Getuid() == 0 && owner != id {
		t.Errorf("owner of the database file: got %d, want %d", owner, id)
	}
	n.Signal(syscall.SIGTERM)
	if code := n.Ended(); code != 0 {
		t.Errorf("exit code after SIGTERM: got %d, want 0", code)
	}
}

// Input that could not start, or could not make requests, is refused, and no file is left.
func TestUnusableInputIsRefused(t *testing.T) {
	note := filepath.Join(t.TempDir(), "note")
	must(t, os.WriteFile(note, []byte("no program, and no certificate"), 0o644))
	shell, err := exec.LookPath("sh")
	must(t, err)
	to := filepath.Join(t.TempDir(), "out.tar")
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	for want, args := range map[string][]string{
		"not a program":                    {"-binary", note, "-out", to},
		"needs a loader":                   {"-binary", shell, "-out", to},
		"no certificates":                  {"-binary", nodetest.Static(t), "-certs", note, "-out", to},
		"unknown architecture":             {"-binary", nodetest.Static(t), "-arch", "mips", "-out", to},
		"it is for EM_":                    {"-binary", nodetest.Static(t), "-arch", other, "-out", to},
		"give -binary, and one of -out an": {"-binary", note},
	} {
		var errOut strings.Builder
		if code := run(args, io.Discard, &errOut); code == 0 || !strings.Contains(errOut.String(), want) {
			t.Errorf("%v: got exit code %d, %s, want an error with %q", args, code, &errOut, want)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(to)); err != nil || len(left) > 0 {
		t.Errorf("remaining files: got %v, %v, want none", left, err)
	}
}

// The Dockerfile has the same settings and copies the same folders as the image that is built without it.
func TestTheDockerfileMatchesTheImage(t *testing.T) {
	f, err := os.Open("../Dockerfile")
	must(t, err)
	defer f.Close()
	tree, err := parser.Parse(f)
	must(t, err)
	stages, _, err := instructions.Parse(tree.AST, nil)
	must(t, err)
	said := settings{ExposedPorts: map[string]struct{}{}, Volumes: map[string]struct{}{}}
	var copied []string
	for _, c := range stages[len(stages)-1].Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			said.User = c.User
		case *instructions.EnvCommand:
			for _, e := range c.Env {
				said.Env = append(said.Env, e.String())
			}
		case *instructions.WorkdirCommand:
			said.WorkingDir = c.Path
		case *instructions.ExposeCommand:
			for _, p := range c.Ports {
				said.ExposedPorts[p] = struct{}{}
			}
		case *instructions.VolumeCommand:
			for _, v := range c.Volumes {
				said.Volumes[v] = struct{}{}
			}
		case *instructions.StopSignalCommand:
			said.StopSignal = c.Signal
		case *instructions.EntrypointCommand:
			said.Entrypoint = c.CmdLine
		case *instructions.CmdCommand:
			said.Cmd = c.CmdLine
		case *instructions.CopyCommand:
			copied = append(copied, fmt.Sprint(c.DestPath, " ", c.Chown, " ", c.Chmod))
		default:
			t.Errorf("the test does not compare the instruction %v", c)
		}
	}
	want := container()
	if fmt.Sprint(said) != fmt.Sprint(want) {
		t.Errorf("settings of the Dockerfile: got\n%v, want those of the image\n%v", said, want)
	}
	if got := []string{"/etc  ", "/usr  ", "/tmp  1777", "/" + dataDir + " 65532:65532 0700"}; !slices.Equal(copied, got) {
		t.Errorf("COPY instructions: got %q", copied)
	}
	layers, err := rootfs(nodetest.Static(t), "/etc/ssl/certs/ca-certificates.crt", runtime.GOARCH)
	must(t, err)
	tops := map[string]bool{}
	for _, layer := range layers {
		for _, e := range layer {
			top, _, _ := strings.Cut(e.name, "/")
			tops[top] = true
		}
	}
	if got := slices.Sorted(maps.Keys(tops)); !slices.Equal(got, []string{"etc", "tmp", "usr", "var"}) {
		t.Errorf("top folders of the image: got %v, but the Dockerfile copies etc, tmp, usr and var", got)
	}
}
