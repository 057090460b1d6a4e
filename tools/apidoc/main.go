// Command apidoc is a plugin of buf: it makes the OpenAPI document (form=openapi) or the reference in Markdown (form=reference)
// of all services and messages of api/. What it says comes from the contract and its comments; what the contract cannot say,
// such as addresses that are no calls, stands in openapi.go.
package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	var flags flag.FlagSet
	form := flags.String("form", "openapi", "openapi or reference")
	protogen.Options{ParamFunc: flags.Set}.Run(func(p *protogen.Plugin) error {
		p.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
		slices.SortFunc(p.Files, func(a, b *protogen.File) int { return strings.Compare(a.Desc.Path(), b.Desc.Path()) })
		switch *form {
		case "openapi":
			return writeOpenAPI(p)
		case "reference":
			return writeReference(p)
		}
		return fmt.Errorf("form is openapi or reference, not %q", *form)
	})
}

// text of a comment, as one line.
func text(c protogen.CommentSet) string {
	return strings.Join(strings.Fields(string(c.Leading)), " ")
}

// path of a call.
func path(m *protogen.Method) string {
	return fmt.Sprintf("/%s/%s", m.Parent.Desc.FullName(), m.Desc.Name())
}

// who may make a call; a test in internal/transport/rpc holds it to what the server asks for.
type who int

const (
	users who = iota
	anyone
	servers
)

func caller(m *protogen.Method) who {
	switch m.Desc.FullName() {
	case "rialto.moderation.v1.ModerationService.AppealBan", "rialto.account.v1.AccountService.Register", "rialto.account.v1.AccountService.GetLoginMethods", "rialto.account.v1.AccountService.Login", "rialto.account.v1.AccountService.RequestCode",
		"rialto.account.v1.AccountService.LoginWithCode", "rialto.account.v1.AccountService.LoginWithSecondFactor", "rialto.account.v1.AccountService.StartPasskeyLogin", "rialto.account.v1.AccountService.LoginWithPasskey", "rialto.account.v1.AccountService.RequestPasswordReset", "rialto.account.v1.AccountService.ResetPassword",
		"rialto.account.v1.AccountService.Refresh", "rialto.gateway.v1.GatewayService.FindGateways":
		return anyone
	}
	if m.Desc.FullName() == "rialto.chat.v1.HelpDeskService.PutHelpDesk" {
		return servers
	}
	switch m.Parent.Desc.FullName() {
	case "rialto.account.v1.AdminService", "rialto.feed.v1.FeedAdminService", "rialto.ranking.v1.RankingAdminService", "rialto.push.v1.PushAdminService", "rialto.id.v1.IDService", "rialto.bridge.v1.BridgeService", "rialto.bridge.v1.BridgeAdminService", "rialto.transaction.v1.MessageTransactionService", "rialto.event.v1.ServerEventService", "rialto.chat.v1.MessageTraceService", "rialto.operation.v1.OperationService", "rialto.operation.v1.InterchangeService", "rialto.moderation.v1.ModerationAdminService":
		return servers
	}
	return users
}

// messages of a file with those inside them, in the order of the source.
func messages(list []*protogen.Message) (all []*protogen.Message) {
	for _, m := range list {
		all = append(append(all, m), messages(m.Messages)...)
	}
	return all
}

func enums(f *protogen.File) []*protogen.Enum {
	all := f.Enums
	for _, m := range messages(f.Messages) {
		all = append(all, m.Enums...)
	}
	return all
}

// choice is the oneof that a field is part of, if it is a true one.
func choice(f *protogen.Field) *protogen.Oneof {
	if f.Oneof == nil || f.Oneof.Desc.IsSynthetic() {
		return nil
	}
	return f.Oneof
}

// wellKnown messages have a JSON form of their own.
func wellKnown(name protoreflect.FullName) bool {
	return strings.HasPrefix(string(name), "google.protobuf.")
}
