package rpc_test

import (
	"log/slog"

	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/privacy"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"google.golang.org/protobuf/proto"
)

// ofPrivacy has the rows of exports and erasures.
func ofPrivacy() map[string]row {
	return map[string]row{
		accounts + "RequestExport":  own(func(subject) proto.Message { return &accountv1.RequestExportRequest{} }),
		accounts + "GetExport":      own(func(subject) proto.Message { return &accountv1.GetExportRequest{} }),
		accounts + "RequestErasure": {request: func(subject) proto.Message { return &accountv1.RequestErasureRequest{} }, server: "not_allowed"},
		accounts + "CancelErasure":  all("no_erasure", func(subject) proto.Message { return &accountv1.CancelErasureRequest{} }),
		accounts + "GetErasure":     own(func(subject) proto.Message { return &accountv1.GetErasureRequest{} }),
		admins + "EraseUser":        all("no_user", func(subject) proto.Message { return &accountv1.EraseUserRequest{User: 1} }),
		admins + "GetUserErasure":   own(func(subject) proto.Message { return &accountv1.GetUserErasureRequest{User: 1} }),
	}
}

// newPrivacy makes the service of exports and erasures for a harness.
func (h *harness) newPrivacy(jobs *job.Service, ids *idgen.Snowflake, files blob.Store, logger *slog.Logger) *privacy.Service {
	h.t.Helper()
	audit, err := auditlog.New(h.t.Context(), h.db, h.clock)
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := privacy.New(h.t.Context(), privacy.Deps{DB: h.db, Jobs: jobs, Accounts: h.accounts, Files: h.media, Store: files, IDs: ids, Audit: audit, Clock: h.clock, Logger: logger}, privacy.Config{})
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}
