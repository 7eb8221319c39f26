package azblob_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"

	"github.com/tofureg/tofureg/contrib/azblob"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
)

// A mirror in a container, whose archives clients get by signed URLs. Without a shared key, set Credential to one of the
// module azidentity, and leave Archive nil.
func Example() {
	key, err := blob.NewSharedKeyCredential("account", "c2VjcmV0")
	if err != nil {
		log.Fatal(err)
	}
	store := &azblob.Store{Container: "https://account.blob.core.windows.net/mirror", SharedKey: key}
	mirror := &mirrordir.Mirror{Store: store}
	handler := &mirrorserve.Handler{Source: mirror, Archive: mirror.ArchiveLink}

	link, err := store.URL(context.Background(), "a.zip", time.Hour) // what Archive calls
	if err != nil {
		log.Fatal(err)
	}
	link, signature, _ := strings.Cut(link, "?")
	fmt.Println(link, signature != "", handler.Archive != nil)
	// Output: https://account.blob.core.windows.net/mirror/a.zip true true
}
