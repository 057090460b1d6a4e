package rpc_test

import (
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"google.golang.org/protobuf/proto"
)

// ofSecurity has the rows of the calls that change how an account is protected.
func ofSecurity() map[string]row {
	return map[string]row{
		accounts + "RequestPasswordReset":  all("no_delivery", func(subject) proto.Message { return &accountv1.RequestPasswordResetRequest{} }),
		accounts + "ResetPassword":         all("bad_code", func(subject) proto.Message { return &accountv1.ResetPasswordRequest{NewPassword: "another good one"} }),
		accounts + "SetContact":            all("no_delivery", func(subject) proto.Message { return &accountv1.SetContactRequest{} }),
		accounts + "VerifyContact":         all("bad_code", func(subject) proto.Message { return &accountv1.VerifyContactRequest{} }),
		accounts + "RemoveContact":         all("no_contact", func(subject) proto.Message { return &accountv1.RemoveContactRequest{} }),
		accounts + "LoginWithSecondFactor": own(func(subject) proto.Message { return &accountv1.LoginWithSecondFactorRequest{} }),
		accounts + "GetSecurity":           own(func(subject) proto.Message { return &accountv1.GetSecurityRequest{} }),
		accounts + "ConfirmIdentity": {request: func(subject) proto.Message {
			return &accountv1.ConfirmIdentityRequest{Password: "a wrong one"}
		}, owner: "no_password", member: "no_password", former: "no_password", outsider: "no_password", server: "no_session"}, // they log in by the app's server
		accounts + "StartTotp":           own(func(subject) proto.Message { return &accountv1.StartTotpRequest{} }),
		accounts + "ConfirmTotp":         all("no_totp", func(subject) proto.Message { return &accountv1.ConfirmTotpRequest{Code: "000000"} }),
		accounts + "RemoveTotp":          all("no_totp", func(subject) proto.Message { return &accountv1.RemoveTotpRequest{} }),
		accounts + "StartPasskeyLogin":   own(func(subject) proto.Message { return &accountv1.StartPasskeyLoginRequest{} }),
		accounts + "LoginWithPasskey":    all("bad_passkey", func(subject) proto.Message { return &accountv1.LoginWithPasskeyRequest{} }),
		accounts + "ListPasskeys":        own(func(subject) proto.Message { return &accountv1.ListPasskeysRequest{} }),
		accounts + "StartPasskey":        own(func(subject) proto.Message { return &accountv1.StartPasskeyRequest{} }),
		accounts + "AddPasskey":          all("bad_passkey", func(subject) proto.Message { return &accountv1.AddPasskeyRequest{Name: "phone"} }),
		accounts + "RenamePasskey":       all("no_passkey", func(subject) proto.Message { return &accountv1.RenamePasskeyRequest{Name: "phone"} }),
		accounts + "RemovePasskey":       all("no_passkey", func(subject) proto.Message { return &accountv1.RemovePasskeyRequest{} }),
		accounts + "CreateRecoveryCodes": all("no_totp", func(subject) proto.Message { return &accountv1.CreateRecoveryCodesRequest{} }),
	}
}
