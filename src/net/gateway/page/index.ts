/** The live page of a gateway: its files, and the topic that its data comes from. docs/gateway.md, "The live page". */

export { ClusterTopic, type ClusterTopicInit } from './cluster-topic.ts'
export { type PageRouteInit, pageRoute } from './page-routes.ts'
