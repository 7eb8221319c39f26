// Package azblob keeps files in Azure Blob Storage. It is experimental.
//
//	store := &azblob.Store{Container: "https://ACCOUNT.blob.core.windows.net/mirror", Credential: credential}
//	mirror := &mirrordir.Mirror{Store: store}
//
// Credentials are those of the module azidentity of the SDK, or a shared key of its package container.
//
// The package adds 3 modules and 1.1 MB to a program with azblob 1.7.0. Later versions also link Apache Arrow, which the
// store does not need.
package azblob
