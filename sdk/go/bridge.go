package rialto

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/bridge/v1/bridgev1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/event/v1/eventv1connect"
)

// BridgeConfig says where a bridge works.
type BridgeConfig struct {
	// URL of the deployment, as https://chat.example.com.
	URL string
	// Key is the API key of a bridge; rialto admin key create --bot USER --bridge NAME makes one.
	Key string
	// HTTP makes the calls; by default with a timeout of 60 s, which is longer than a pull waits.
	HTTP *http.Client
}

// Bridge has the calls that a bridge to another message system makes, with its API key. It opens no connection, and is safe for concurrent use.
type Bridge struct {
	// BridgeServiceClient stores what comes from the other system, and reports what became of what goes there.
	bridgev1connect.BridgeServiceClient
	// Events are those of the bridge's bot: what is written in the groups that are linked.
	Events eventv1connect.ServerEventServiceClient
	// Chat and Accounts are the calls of a user, made as the bot.
	Chat     chatv1connect.ChatServiceClient
	Accounts accountv1connect.AccountServiceClient
}

// NewBridge makes the clients of a bridge.
func NewBridge(c BridgeConfig) (*Bridge, error) {
	c.URL = strings.TrimRight(c.URL, "/")
	if c.HTTP == nil {
		c.HTTP = &http.Client{Timeout: time.Minute}
	}
	if err := checkKeyed("BridgeConfig", c.URL, c.Key); err != nil {
		return nil, err
	}
	with := withKey(c.Key)
	return &Bridge{BridgeServiceClient: bridgev1connect.NewBridgeServiceClient(c.HTTP, c.URL, with), Events: eventv1connect.NewServerEventServiceClient(c.HTTP, c.URL, with),
		Chat: chatv1connect.NewChatServiceClient(c.HTTP, c.URL, with), Accounts: accountv1connect.NewAccountServiceClient(c.HTTP, c.URL, with)}, nil
}

// checkKeyed checks the address and the API key of a configuration.
func checkKeyed(config, url, key string) error {
	switch {
	case !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://"):
		return errors.New("rialto: " + config + ".URL must begin with http:// or https://")
	case key == "":
		return errors.New("rialto: " + config + ".Key must be an API key")
	}
	return nil
}

// withKey makes calls with an API key.
func withKey(key string) connect.ClientOption {
	return connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			r.Header().Set("Authorization", "Bearer "+key)
			return next(ctx, r)
		}
	}))
}
