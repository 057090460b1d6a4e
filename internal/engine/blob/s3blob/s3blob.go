// Package s3blob keeps files in a bucket of any S3 server.
//
// A file exists, as a whole, once the server has confirmed it. A small file is sent in one request, a large one as a multipart upload that is completed
// at the end. Package outgoing defines the retries, and refuses requests while most of them fail. All methods of Store may be called
// from many goroutines.
package s3blob

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/rialto-im/rialto/internal/base/certpool"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/spool"
	"github.com/rialto-im/rialto/internal/engine/blob"
)

const (
	// resumes is how often in a row a file whose answer breaks off is requested again.
	resumes = 4
	// requestTimeout bounds a request that is not a download, beside the time for which its body may be sent at leastRate.
	requestTimeout = time.Minute
	leastRate      = 64 << 10 // bytes per second
	// answerTimeout bounds the time until the server begins its answer.
	answerTimeout = 30 * time.Second
	// ProbePrefix begins the names of the files with which Open checks the bucket; one that is left behind is not needed.
	ProbePrefix = "check-"
	// checkTimeout bounds the check at the start.
	checkTimeout = 30 * time.Second
)

// Config configures a store.
type Config struct {
	// Endpoint is the server's URL: https://s3.eu-central-1.amazonaws.com, or http://127.0.0.1:9000.
	Endpoint string
	// Region of the bucket. Default us-east-1, which most servers other than Amazon's accept.
	Region string
	// Bucket must exist.
	Bucket string
	// Prefix of each key, such as rialto/files, so that the bucket can be shared. Empty: none.
	Prefix string
	// AccessKey and SecretKey. Both empty: from the environment (AWS_ACCESS_KEY_ID …), ~/.aws/credentials, or the role of the machine.
	AccessKey, SecretKey string
	// CA is a file with the certificates (PEM) of the server's authority, if the system does not trust it.
	CA string
	// Uploads is the maximum number of concurrent requests that send bytes; others wait. Default 16. Only bytes that are complete are sent, so
	// a slow client has none of these requests.
	Uploads int
	// Spool receives the bytes of Put and PutPart before they are sent: 8 MiB at most for each call of Put (more for files beyond 72 GB), a part
	// for each of PutPart. Each needs spool.BufferSize of memory. nil: all of them are in memory, so the caller bounds
	// the concurrent calls.
	Spool *spool.Dir
	// ReadOnly: Open checks nothing, so that keys which may only read suffice.
	ReadOnly bool
	// Calls has the circuit breakers of this process. Without it there is an own one, which no metrics show.
	Calls *outgoing.Calls
}

// Store keeps files in a bucket.
type Store struct {
	config Config
	client *minio.Core
	slots  chan struct{} // holds a value for each request that sends bytes
}

// Open connects, and checks with a small file that the bucket can be written, read and deleted from.
func Open(ctx context.Context, config Config) (*Store, error) {
	config.Region = cmp.Or(config.Region, "us-east-1")
	config.Uploads = cmp.Or(config.Uploads, 16)
	config.Calls = outgoing.OrNew(config.Calls)
	endpoint, err := config.check()
	if err != nil {
		return nil, err
	}
	secure := endpoint.Scheme == "https"
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	transport.ResponseHeaderTimeout = answerTimeout
	transport.MaxIdleConnsPerHost = 64
	if err := config.trust(transport); err != nil {
		return nil, err
	}
	keys := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}})
	if config.AccessKey != "" {
		keys = credentials.NewStaticV4(config.AccessKey, config.SecretKey, "")
	}
	client, err := minio.NewCore(endpoint.Host, &minio.Options{Creds: keys, Secure: secure, Transport: transport, Region: config.Region, MaxRetries: 1})
	if err != nil {
		return nil, fmt.Errorf("files in S3: %w", err)
	}
	s := &Store{config: config, client: client, slots: make(chan struct{}, config.Uploads)}
	if config.ReadOnly {
		return s, nil
	}
	if err := s.probe(ctx); err != nil {
		return nil, fmt.Errorf("files in the bucket %s at %s: %w", config.Bucket, config.Endpoint, err)
	}
	return s, nil
}

func (c Config) check() (*url.URL, error) {
	var faults []error
	fault := func(wrong bool, text string) {
		if wrong {
			faults = append(faults, errors.New("files in S3: "+text))
		}
	}
	u, err := url.Parse(c.Endpoint)
	fault(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "", "endpoint is a URL with http or https and a host, without a path")
	fault(c.Bucket == "", "name a bucket")
	fault(c.Prefix != "" && !blob.ValidKey(c.Prefix), "prefix has a-z, 0-9, - and /, no / at its ends")
	fault((c.AccessKey == "") != (c.SecretKey == ""), "give both access key and secret key, or none")
	fault(c.Uploads < 0, "uploads is negative")
	return u, errors.Join(faults...)
}

func (c Config) trust(t *http.Transport) error {
	if c.CA == "" {
		return nil
	}
	pool, err := certpool.Read(c.CA)
	if err != nil {
		return fmt.Errorf("files in S3: ca: %w", err)
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	return nil
}

// probe stores, reads and deletes a test file.
func (s *Store) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	key := ProbePrefix + strconv.FormatUint(rand.Uint64(), 36)
	if err := s.Put(ctx, key, strings.NewReader(key), int64(len(key))); err != nil {
		return err
	}
	f, _, err := s.Open(ctx, key)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close(), s.Delete(ctx, key)); err != nil {
		return err
	}
	if string(got) != key {
		return errors.New("it does not return what was stored; it does not implement S3")
	}
	return nil
}

// name returns the object name of a key.
func (s *Store) name(key string) string {
	if s.config.Prefix == "" {
		return key
	}
	return s.config.Prefix + "/" + key
}

// Delete removes a file.
func (s *Store) Delete(ctx context.Context, key string) error {
	if !blob.ValidKey(key) {
		return blob.ErrKey
	}
	return s.DeleteObject(ctx, key)
}
