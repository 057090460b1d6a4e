package app

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/rialto-im/rialto/internal/base/eventually"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const edgeHost = "edge.example.com"

// throughEdge returns connections of a client for which edgeHost is an edge.
func throughEdge(t *testing.T, e *Node) *http.Transport {
	t.Helper()
	connections := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == edgeHost+":80" {
			address = strings.TrimPrefix(url(e), "http://")
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	t.Cleanup(connections.CloseIdleConnections)
	return connections
}

// twoParts are the bytes of a file with two parts.
func twoParts() []byte {
	b := make([]byte, 5<<20+1000)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// checkFile checks that a node has a file with these bytes.
func checkFile(t *testing.T, ann *rialto.Client, upload uint64, want []byte) {
	t.Helper()
	r, err := ann.Media().GetDownload(t.Context(), connect.NewRequest(&chatv1.GetDownloadRequest{Upload: upload}))
	must(t, err)
	body, err := ann.OpenFile(t.Context(), r.Msg.Url)
	must(t, err)
	got, err := io.ReadAll(body)
	must(t, err)
	must(t, body.Close())
	if !bytes.Equal(got, want) {
		t.Errorf("the file has %d bytes, and not the %d that were sent", len(got), len(want))
	}
}

// TestUploadsByTheAddressOfEdges: where media.origin is the address of edges, files, parts and what an S3 client sends get to a node through an edge, and are as they
// were sent.
func TestUploadsByTheAddressOfEdges(t *testing.T) {
	h, _ := open(t, edgeSecret, "media.origin=http://"+edgeHost)
	e := openEdgeOf(t, h)
	connections := throughEdge(t, e)
	ann, err := rialto.New(rialto.Config{URL: url(h), HTTP: &http.Client{Transport: connections}})
	must(t, err)
	must(t, ann.Register(t.Context(), "ann", "a good password", "Ann"))
	sent := func(what string, want int64) {
		t.Helper()
		if n := e.edge.Stats().Uploads.Swap(0); n != want {
			t.Errorf("%s: %d requests went through the edge, want %d", what, n, want)
		}
	}
	file := twoParts()
	whole, err := ann.Upload(t.Context(), "a", "", 1000, bytes.NewReader(file[:1000]))
	must(t, err)
	checkFile(t, ann, whole.Upload, file[:1000])
	sent("a file", 1)
	parts, err := ann.UploadFile(t.Context(), "b", "", int64(len(file)), bytes.NewReader(file), rialto.UploadOptions{})
	must(t, err)
	checkFile(t, ann, parts.Upload, file)
	sent("two parts", 2)
	m, err := ann.Media().CreateMultipartUpload(t.Context(), connect.NewRequest(&chatv1.CreateMultipartUploadRequest{Name: "c", Size: uint64(len(file))}))
	must(t, err)
	keys, err := ann.Media().CreateUploadCredentials(t.Context(), connect.NewRequest(&chatv1.CreateUploadCredentialsRequest{Upload: m.Msg.Upload}))
	must(t, err)
	k := keys.Msg
	if k.Origin != "http://"+edgeHost {
		t.Fatalf("S3 clients are sent to %s", k.Origin)
	}
	s3, err := minio.New(edgeHost, &minio.Options{Creds: credentials.NewStaticV4(k.AccessKey, k.SecretKey, ""), Region: k.Region, BucketLookup: minio.BucketLookupPath, Transport: connections, MaxRetries: 1})
	must(t, err)
	_, err = s3.PutObject(t.Context(), k.Bucket, k.Key, bytes.NewReader(file), int64(len(file)), minio.PutObjectOptions{PartSize: m.Msg.PartSize})
	must(t, err)
	done, err := ann.Media().CompleteUpload(t.Context(), connect.NewRequest(&chatv1.CompleteUploadRequest{Upload: m.Msg.Upload}))
	must(t, err)
	checkFile(t, ann, done.Msg.Upload, file)
	sent("an S3 client: its beginning, two parts, and the end", 4)
}

// TestTheGoClientSendsPartsThroughEdges: it sends them through an edge that it was told of, and to the node once the edge is gone.
func TestTheGoClientSendsPartsThroughEdges(t *testing.T) {
	h, _ := open(t, edgeSecret)
	e, err := Open(t.Context(), configure(t, filepath.Join(t.TempDir(), "edge"), "roles=edge", "edge.origins="+url(h), edgeSecret, "public.url=http://"+edgeHost), slog.New(slog.NewTextHandler(t.Output(), nil)))
	must(t, err)
	closeEdge := sync.OnceValue(e.Close)
	t.Cleanup(func() { must(t, closeEdge()) })
	ann, err := rialto.New(rialto.Config{URL: url(h), HTTP: &http.Client{Transport: throughEdge(t, e)}})
	must(t, err)
	must(t, ann.Register(t.Context(), "ann", "a good password", "Ann"))
	eventually.True(t, "the edge is offered", func() bool { return len(h.discovery.EdgeAddresses()) == 1 })
	file := twoParts()
	for range 2 { // with the edge, and without
		u, err := ann.UploadFile(t.Context(), "a", "", int64(len(file)), bytes.NewReader(file), rialto.UploadOptions{})
		must(t, err)
		must(t, closeEdge())
		checkFile(t, ann, u.Upload, file)
	}
	if n := e.edge.Stats().Uploads.Load(); n != 2 {
		t.Errorf("%d parts went through the edge, and not 2", n)
	}
}
