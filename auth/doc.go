// Package auth finds and stores the API tokens of hosts.
//
//	tokens := auth.Cached(auth.Chain(
//		auth.Environ(os.Environ()),
//		token.For(host),
//		auth.Helper{Path: "/usr/local/lib/terraform-credentials-vault"},
//	), time.Hour)
//	token, err := tokens.Token(ctx, host)
//
// A token belongs to a hostname in addresses, such as registry.example.com, and not to the
// server that answers requests. A [Source] returns tokens. A [Store] also saves and forgets
// them: a [Helper] program or a [CredentialsFile].
//
// All sources of this package are safe for concurrent use. If a host has no token, they
// return the zero [Token]. Their errors are a [*SourceError].
//
// The package reads only variables, files and programs that the caller names.
//
// See https://opentofu.org/docs/cli/config/config-file/#credentials and
// https://opentofu.org/docs/internals/remote-service-discovery/.
package auth
