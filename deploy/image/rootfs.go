package main

import (
	"bytes"
	"debug/elf"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// user is the user id of the server in its container. It is a number, because Kubernetes cannot check that a name is not root.
const (
	user    = 65532
	dataDir = "var/lib/rialto"
	program = "usr/local/bin/rialto"
)

// entry of the image's root file system.
type entry struct {
	name string // without a slash at its ends
	mode fs.FileMode
	id   int // owner and group
	body []byte
}

// rootfs returns the files of the image in two layers: one that rarely changes, and the binary.
func rootfs(binary, certs, arch string) ([][]entry, error) {
	authorities, err := os.ReadFile(certs)
	if err != nil {
		return nil, err
	}
	if block, _ := pem.Decode(authorities); block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("%s has no certificates, so the server could not make HTTPS requests", certs)
	}
	server, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	if err := static(server, arch); err != nil {
		return nil, fmt.Errorf("%s: %w", binary, err)
	}
	const dir = fs.ModeDir | 0o755
	return [][]entry{{
		{name: "etc", mode: dir},
		{name: "etc/group", mode: 0o644, body: fmt.Appendf(nil, "root:x:0:\nrialto:x:%d:\n", user)},
		{name: "etc/passwd", mode: 0o644, body: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nrialto:x:%d:%[1]d:Rialto:/%s:/sbin/nologin\n", user, dataDir)},
		{name: "etc/rialto", mode: dir},
		{name: "etc/ssl", mode: dir},
		{name: "etc/ssl/certs", mode: dir},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, body: authorities},
		{name: "tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
		{name: "usr", mode: dir},
		{name: "usr/local", mode: dir},
		{name: "usr/local/bin", mode: dir},
		{name: "var", mode: dir},
		{name: "var/lib", mode: dir},
		{name: dataDir, mode: fs.ModeDir | 0o700, id: user},
	}, {
		{name: program, mode: 0o755, body: server},
	}}, nil
}

// static returns an error if a program could not start on a machine of that architecture without any other file.
func static(program []byte, arch string) error {
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	want, ok := machines[arch]
	if !ok {
		return fmt.Errorf("%s is an unknown architecture; use amd64 or arm64", arch)
	}
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return fmt.Errorf("not a program for Linux: %w", err)
	}
	if f.Machine != want {
		return fmt.Errorf("it is for %v, not for %s", f.Machine, arch)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("it needs a loader and libraries that the image lacks; build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// unpack writes the files into a directory. It sets their owners if it runs as root.
func unpack(layers [][]entry, root string) error {
	for _, layer := range layers {
		for _, e := range layer {
			path := filepath.Join(root, e.name)
			var err error
			if e.mode.IsDir() {
				err = os.MkdirAll(path, 0o755)
			} else {
				err = os.WriteFile(path, e.body, 0o644)
			}
			if err == nil && os.Getuid() == 0 {
				err = os.Chown(path, e.id, e.id)
			}
			if err == nil {
				err = os.Chmod(path, e.mode) // after chown, which clears some bits
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
