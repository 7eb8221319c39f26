// Package azblob keeps files in a container of Azure Blob Storage.
//
//	client, err := container.NewClient("https://ACCOUNT.blob.core.windows.net/mirror", credential, nil)
//	mirror := &mirrordir.Mirror{Store: &azblob.Store{Client: client}}
//
// Package container is github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container, and credentials are those of
// the module azidentity of the same SDK, or a shared key.
//
// The package adds 3 modules and 1.1 MB to a program with azblob 1.7.0. Later versions also link Apache Arrow, which the
// store does not need.
package azblob
