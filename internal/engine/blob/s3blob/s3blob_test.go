package s3blob_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/blobtest"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob/s3test"
)

func config(s *s3test.Server, bucket string) s3blob.Config {
	return s3blob.Config{Endpoint: s.Endpoint, Bucket: bucket, AccessKey: s.AccessKey, SecretKey: s.SecretKey}
}

func open(t *testing.T, config s3blob.Config) *s3blob.Store {
	t.Helper()
	if config.Spool == nil {
		config.Spool = openSpool(t)
	}
	s, err := s3blob.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	blobtest.Run(t, func(t *testing.T) blob.Store { return open(t, config(server, server.Bucket(t))) })
}
