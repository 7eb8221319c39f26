package azblob_test

import (
	"log"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"

	"github.com/tofureg/tofureg/contrib/azblob"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/serve/regdir"
)

// A registry that a company publishes to a container. Without a shared key, set Credential to one of the module azidentity.
func Example() {
	key, err := blob.NewSharedKeyCredential("account", "c2VjcmV0")
	if err != nil {
		log.Fatal(err)
	}
	store := &azblob.Store{Container: "https://account.blob.core.windows.net/registry", SharedKey: key}
	_ = &regdir.Registry{Store: store, Host: svchost.MustParse("registry.example.com")}
}
