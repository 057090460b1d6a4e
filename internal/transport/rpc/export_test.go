package rpc

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"google.golang.org/protobuf/proto"
)

// Calls returns the access of each call: "users", "anyone", "operators", "bridges" or "servers", of which bots may make some.
func (s *Server) Calls() map[string]string {
	list := map[string]string{}
	for name, m := range s.methods {
		list[name] = [...]string{userAccess: "users", anonymousAccess: "anyone", serverAccess: "servers", eventAccess: "servers", operatorAccess: "operators", bridgeAccess: "bridges"}[m.access]
	}
	return list
}

// Costs returns what a request takes beside one call, as "send 1, invite 3", with a plus if it counts even if the request is refused.
func Costs(request proto.Message, size int) string {
	var list []string
	for _, c := range costs(request, size) {
		text := fmt.Sprint(c.route, " ", c.n)
		if c.countsIfRefused {
			text += "+"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// Work returns the class of workers of a call and its priority, as "chat first"; "" if its service has no class.
func (s *Server) Work(name string) string {
	service, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	if _, ok := serviceClasses[service]; !ok {
		return ""
	}
	w := s.methods[name].work
	return fmt.Sprint(w.class, " ", w.priority)
}

// NamedCalls returns the calls in the tables of priorities and classes.
func NamedCalls() (names []string) {
	return slices.AppendSeq(slices.Collect(maps.Keys(callPriorities)), maps.Keys(callClasses))
}

// NewBody returns the body of a request that has just begun, with the limits of a call with credentials, and what records that it is decoded.
func NewBody(w http.ResponseWriter, r *http.Request) (b io.Reader, setDecoded func()) {
	s := &Server{deps: Deps{Input: inputlimit.NewMemory(8 << 20)}}
	limited := s.newBody(r, http.NewResponseController(w), time.Now())
	return limited, limited.setDecoded
}
