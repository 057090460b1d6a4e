// Command image packs the server into a container image without a container engine. The image is an OCI image layout in one tar, which
// engines and registries accept. The same input gives the same bytes, so that anyone can rebuild the image and compare its digest.
//
//	cd deploy && go run ./image -binary ../bin/rialto-linux-amd64 -out ../dist/rialto.tar
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("image", flag.ContinueOnError)
	fs.SetOutput(errOut)
	binary := fs.String("binary", "", "static binary `file` of rialto for Linux (required)")
	certs := fs.String("certs", "/etc/ssl/certs/ca-certificates.crt", "PEM `file` of the certificate authorities that the server trusts")
	arch := fs.String("arch", runtime.GOARCH, "`architecture` of the binary: amd64 or arm64")
	name := fs.String("name", "rialto:latest", "`name:tag` of the image in an engine")
	to := fs.String("out", "", "tar `file` to write the image layout to")
	root := fs.String("root", "", "`directory` to write the image's files to, instead of a layout (for the Dockerfile)")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if *binary == "" || (*to == "") == (*root == "") || fs.NArg() > 0 {
		fmt.Fprintln(errOut, "image: give -binary, and one of -out and -root")
		return 2
	}
	layers, err := rootfs(*binary, *certs, *arch)
	if err != nil {
		fmt.Fprintln(errOut, "image:", err)
		return 1
	}
	if *root != "" {
		if err := unpack(layers, *root); err != nil {
			fmt.Fprintln(errOut, "image:", err)
			return 1
		}
		return 0
	}
	digest, err := write(*to, layers, *arch, *name)
	if err != nil {
		fmt.Fprintln(errOut, "image:", err)
		return 1
	}
	fmt.Fprintln(out, digest)
	return 0
}

// write creates the file completely or not at all.
func write(to string, layers [][]entry, arch, name string) (digest string, err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".image-*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if digest, err = pack(f, layers, arch, name); err != nil {
		return "", err
	}
	if err := f.Chmod(0o644); err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return digest, os.Rename(f.Name(), to)
}
