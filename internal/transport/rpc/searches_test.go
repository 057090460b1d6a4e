package rpc_test

import (
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
	"google.golang.org/protobuf/proto"
)

const searches = "/rialto.search.v1.SearchService/"

func ofSearches() map[string]row {
	return map[string]row{
		searches + "Search": own(func(subject) proto.Message { return &searchv1.SearchRequest{Query: "a"} }),
	}
}
