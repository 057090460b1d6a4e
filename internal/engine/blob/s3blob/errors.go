package s3blob

import (
	"context"
	"errors"
	"fmt"

	"github.com/minio/minio-go/v7"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/blob"
)

// advice says what an operator can do about an error of the server.
func advice(code string) string {
	switch code {
	case "NoSuchBucket":
		return "the bucket does not exist: create it, or name another one"
	case "InvalidAccessKeyId", "XAdminUserNotFound": // the latter of versitygw
		return "the server does not know the access key: check it, and the endpoint"
	case "SignatureDoesNotMatch":
		return "the secret key does not match the access key (or a proxy changes the header Host)"
	case "AccessDenied", "AllAccessDisabled", "AccountProblem":
		return "these keys lack permissions: allow them to get, put and delete objects of the bucket, to list it, and to abort uploads"
	case "RequestTimeTooSkewed":
		return "the clock of this machine is wrong: set it"
	case "AuthorizationHeaderMalformed", "PermanentRedirect":
		return "the bucket is in another region: set it"
	}
	return ""
}

// classify converts the server's errors to those of package blob.
func classify(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	answer := minio.ToErrorResponse(err)
	switch answer.Code {
	case "NoSuchKey":
		return blob.ErrNotFound
	case "ObjectParentIsFile", "ExistingObjectIsDirectory", "XMinioParentIsObject": // of servers that keep objects as files
		return blob.ErrKey
	case "PreconditionFailed":
		return &errs.Error{Kind: errs.Unavailable, Reason: "file_changed", Message: "the file was replaced while it was read; read it again", Retry: 1e9, Cause: err}
	}
	if what := advice(answer.Code); what != "" {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return &errs.Error{Kind: errs.Unavailable, Reason: "files_unavailable", Message: "the file store failed; try again", Retry: 5e9, Cause: err}
}
