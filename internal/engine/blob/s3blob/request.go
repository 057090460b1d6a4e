package s3blob

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// request makes a request that sends so many bytes. do may be called several times.
func (s *Store) request(ctx context.Context, size int64, do func(ctx context.Context) error) error {
	return s.try(ctx, func() error {
		within, cancel := context.WithTimeout(ctx, requestTimeout+time.Duration(size/leastRate)*time.Second)
		defer cancel()
		return do(within)
	})
}

// get requests a file, or a part of it. The body lasts until ctx ends.
func (s *Store) get(ctx context.Context, name string, options minio.GetObjectOptions) (*download, error) {
	d := &download{}
	err := s.try(ctx, func() (err error) {
		d.body, d.info, d.header, err = s.client.GetObject(ctx, s.config.Bucket, name, options)
		return err
	})
	return d, err
}

func (s *Store) try(ctx context.Context, do func() error) (err error) {
	refused := s.config.Calls.Try(ctx, outgoing.S3, s.config.Endpoint, func() outgoing.Outcome {
		err = do()
		return outcomeOf(err)
	})
	if refused != nil {
		return refused
	}
	return err
}

// outcomeOf says whether the server has failed. An answer that the file is not there, for instance, is none of a server that fails.
func outcomeOf(err error) outgoing.Outcome {
	var answer minio.ErrorResponse
	if err == nil || errors.As(err, &answer) && answer.StatusCode >= http.StatusBadRequest && answer.StatusCode < http.StatusInternalServerError {
		return outgoing.Outcome{}
	}
	return outgoing.OutcomeOf(0, 0, err)
}
