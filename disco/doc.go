// Package disco asks a host where its services are.
//
// People name a registry by a hostname, such as registry.example.com. Where its
// APIs really are, the host tells in a JSON document at
// https://HOST/.well-known/terraform.json:
//
//	{
//	  "modules.v1":   "https://api.example.com/modules/v1/",
//	  "providers.v1": "/providers/v1/"
//	}
//
// A [Client] fetches it, follows redirects, checks it, and keeps it for a while:
//
//	var client disco.Client
//	services, err := client.Discover(ctx, svchost.MustParse("registry.opentofu.org"))
//	if err != nil {
//		return err
//	}
//	base, err := services.URL(disco.ProvidersV1)
//
// The protocol is described at
// https://opentofu.org/docs/internals/remote-service-discovery/.
//
// # Rules
//
// The document is fetched over https alone. At most five redirects are followed,
// to any host; relative service URLs are resolved against the URL that answered
// in the end. The answer must have status 200 and the media type
// application/json, be no longer than 1 MiB, and hold one JSON object with no
// more than 1000 services. A host that answers 404 has no services, which is no
// error. Anything else is one: a [*failure.Error].
//
// A value that makes no sense, a service that is declared twice with different
// values, and a service that this package does not know are no obstacle to the
// other services. Only who asks for such a service gets an error, a
// [*ServiceError].
//
// The token of the host, if there is one, goes with the request for the
// document, but not to another host, port or scheme that it redirects to. It
// may also go to the services that the document declares, whatever host they are
// on, but never over http.
package disco
