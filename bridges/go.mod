// The bridges to other message systems, apart from the product: programs of their own, which use the SDK only.
module github.com/rialto-im/rialto/bridges

go 1.26.0

require (
	connectrpc.com/connect v1.21.1
	github.com/ergochat/irc-go v0.5.0
	github.com/rialto-im/rialto/sdk/go v0.0.0
	google.golang.org/protobuf v1.36.12
)

require github.com/coder/websocket v1.8.15 // indirect

replace github.com/rialto-im/rialto/sdk/go => ../sdk/go
