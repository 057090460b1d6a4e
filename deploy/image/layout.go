package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// descriptor of a blob, as in the OCI image specification.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    *platform         `json:"platform,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// settings of a container. The Dockerfile has the same.
type settings struct {
	User         string              `json:"User"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts"`
	Env          []string            `json:"Env"`
	Entrypoint   []string            `json:"Entrypoint"`
	Cmd          []string            `json:"Cmd"`
	Volumes      map[string]struct{} `json:"Volumes"`
	WorkingDir   string              `json:"WorkingDir"`
	StopSignal   string              `json:"StopSignal"`
}

type configuration struct {
	Created time.Time `json:"created"`
	platform
	Config settings `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	History []map[string]any `json:"history"`
}

// begin is the only time in the image, because with other times two builds would differ.
func begin() time.Time { return time.Unix(0, 0).UTC() }

func container() settings {
	return settings{
		User:         fmt.Sprintf("%d:%[1]d", user),
		ExposedPorts: map[string]struct{}{"7070/tcp": {}, "7071/tcp": {}, "7222/tcp": {}},
		Env:          []string{"PATH=/usr/local/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt", "RIALTO_DATA=/" + dataDir},
		Entrypoint:   []string{"/" + program},
		Cmd:          []string{"serve"},
		Volumes:      map[string]struct{}{"/" + dataDir: {}},
		WorkingDir:   "/" + dataDir,
		StopSignal:   "SIGTERM",
	}
}

// pack writes the layout as a tar, and returns the digest of its manifest.
func pack(w io.Writer, layers [][]entry, arch, name string) (string, error) {
	where := platform{Architecture: arch, OS: "linux"}
	var blobs []entry
	keep := func(kind string, body []byte) descriptor {
		sum := digest(body)
		blobs = append(blobs, entry{name: "blobs/sha256/" + strings.TrimPrefix(sum, "sha256:"), mode: 0o644, body: body})
		return descriptor{MediaType: "application/vnd.oci.image." + kind, Digest: sum, Size: len(body)}
	}
	m := manifest{SchemaVersion: 2, MediaType: "application/vnd.oci.image.manifest.v1+json"}
	c := configuration{Created: begin(), platform: where, Config: container()}
	c.RootFS.Type = "layers"
	for i, layer := range layers {
		plain, err := archive(layer)
		if err != nil {
			return "", err
		}
		packed, err := compress(plain)
		if err != nil {
			return "", err
		}
		m.Layers = append(m.Layers, keep("layer.v1.tar+gzip", packed))
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, digest(plain))
		c.History = append(c.History, map[string]any{"created": begin(), "created_by": []string{"deploy/image: files", "deploy/image: rialto"}[min(i, 1)]})
	}
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	m.Config = keep("config.v1+json", text)
	if text, err = json.Marshal(m); err != nil {
		return "", err
	}
	top := keep("manifest.v1+json", text)
	sum := top.Digest
	_, tag, _ := strings.Cut(name, ":")
	top.Platform, top.Annotations = &where, map[string]string{"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": name}
	if text, err = json.Marshal(index{SchemaVersion: 2, MediaType: "application/vnd.oci.image.index.v1+json", Manifests: []descriptor{top}}); err != nil {
		return "", err
	}
	const dir = fs.ModeDir | 0o755
	all := append([]entry{
		{name: "oci-layout", mode: 0o644, body: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, body: text},
		{name: "blobs", mode: dir}, {name: "blobs/sha256", mode: dir},
	}, blobs...)
	b, err := archive(all)
	if err != nil {
		return "", err
	}
	_, err = w.Write(b)
	return sum, err
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

func archive(entries []entry) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode.Perm()), Uid: e.id, Gid: e.id, Size: int64(len(e.body)), ModTime: begin(), Format: tar.FormatUSTAR}
		if e.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if e.mode.IsDir() {
			h.Typeflag, h.Name = tar.TypeDir, e.name+"/"
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.body); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// compress is deterministic, because the gzip header contains neither a time nor a file name.
func compress(plain []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}
