// Package gcs downloads modules from Google Cloud Storage, and keeps files there. It is experimental.
//
//	credentials, err := google.FindDefaultCredentials(ctx, gcs.ScopeRead)
//	options := module.Options{Fetcher: &gcs.Fetcher{Credentials: credentials}}
//	report, err := module.Download(ctx, registry, module.Request{Source: source, Dir: dir}, options)
//
// A location names a bucket and an object, as in go-getter. It is an archive, if its path has the suffix of an
// archive or it has the parameter "archive", and otherwise a directory of objects:
//
//	gcs::https://www.googleapis.com/storage/v1/BUCKET/OBJECT.zip
//	gcs::https://www.googleapis.com/storage/v1/BUCKET/OBJECT.zip#GENERATION
//	www.googleapis.com/storage/v1/BUCKET/DIRECTORY
//
// The host in a location is never contacted. Requests go to the JSON API at https://storage.googleapis.com, or to
// another Endpoint, and only there the access token is sent, over https.
//
// The package adds 1 module and 0.6 MB to a program with clients of the SDK. The client library of Google would add
// more than 40 modules.
package gcs

// Scopes of credentials: ScopeRead for [Fetcher] and for reading a [Store], ScopeWrite for changes.
const (
	ScopeRead  = "https://www.googleapis.com/auth/devstorage.read_only"
	ScopeWrite = "https://www.googleapis.com/auth/devstorage.read_write"
)
