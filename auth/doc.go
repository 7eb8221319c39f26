// Package auth finds and stores the API tokens of hosts. It is meant for 1.0.
//
//	tokens := auth.Cached(auth.Chain(
//		auth.Environ(os.Environ()),
//		token.For(host),
//		auth.Helper{Path: "/usr/local/lib/terraform-credentials-vault"},
//	), time.Hour)
//	token, err := tokens.Token(ctx, host)
//
// A token belongs to a hostname in addresses, and not to the server that answers requests. A
// [Source] returns tokens; a [Store] also saves and forgets them.
//
// All sources of this package are safe for concurrent use, and their errors wrap a [*SourceError].
//
// See https://opentofu.org/docs/cli/config/config-file/#credentials.
package auth
