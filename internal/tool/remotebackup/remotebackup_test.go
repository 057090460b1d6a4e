package remotebackup

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/rialto-im/rialto/internal/base/progress"
	"github.com/rialto-im/rialto/internal/tool/apiclient"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// TestAnInterruptedBackupIsCancelledOnce: a server that does not answer is not asked again, and the error says that the backup may go on.
func TestAnInterruptedBackupIsCancelledOnce(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var cancels atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] {
		case "GetBackup":
			interrupt()
		case "CancelBackup":
			cancels.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		b, err := proto.Marshal(&operationv1.Backup{State: operationv1.BackupState_BACKUP_STATE_RUNNING})
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(b)
	}))
	defer server.Close()
	client, err := apiclient.New(apiclient.Config{URL: server.URL, Key: "key", Patience: apiclient.DefaultPatience})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(ctx, Options{Server: client, Printer: progress.New(io.Discard)})
	if err == nil || !strings.Contains(err.Error(), "the backup goes on") {
		t.Errorf("the error is %v", err)
	}
	if n := cancels.Load(); n != 1 {
		t.Errorf("it was cancelled %d times, want once", n)
	}
}
