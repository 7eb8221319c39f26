package azblob_test

import (
	"log"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/tofureg/tofureg/contrib/azblob"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/regclient/regdir"
)

// A registry that a company publishes to a container. Without a shared key, use container.NewClient with a credential
// of the module azidentity.
func Example() {
	key, err := blob.NewSharedKeyCredential("account", "c2VjcmV0")
	if err != nil {
		log.Fatal(err)
	}
	client, err := container.NewClientWithSharedKeyCredential("https://account.blob.core.windows.net/registry", key, nil)
	if err != nil {
		log.Fatal(err)
	}
	_ = &regdir.Registry{Store: &azblob.Store{Client: client}, Host: svchost.MustParse("registry.example.com")}
}
