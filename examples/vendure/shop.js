/*
 * A Vendure shop as its package comes, that sells one product: @vendure/core with its default configuration, plus what
 * no shop can do without: a database (SHOP_DATABASE, a conninfo), a port (SHOP_PORT) and a way to pay. That is Vendure's
 * own dummyPaymentHandler, which settles at once, so nothing but Vendure decides who gets a unit.
 *
 * It starts on empty tables, which it makes, with one country, one tax rate, one free shipping method, one product and
 * 100 units of it. It says where it listens on its first line, as the other shops of examples/ do.
 *
 * How it fails: a database that cannot be reached ends it with what Vendure says of that, on stderr.
 */
'use strict';

process.env.VENDURE_DISABLE_TELEMETRY = 'true'; // before it is loaded: a test is no installation to be counted

const path = require('path');
const { bootstrap, dummyPaymentHandler } = require('@vendure/core');
const { populate } = require('@vendure/core/cli');

// Errors alone, and on stderr: what stands on stdout is where it listens.
const quiet = () => {};
const logger = { error: (...words) => console.error(...words), warn: quiet, info: quiet, verbose: quiet, debug: quiet };

// "host=/run/x port=5432 dbname=shop user=shop", as libpq has it
function readConninfo(text) {
  const settings = {};
  for (const [, name, value] of text.matchAll(/(\w+)=((?:\\.|[^\s\\])*)/g)) settings[name] = value.replace(/\\(.)/g, '$1');
  return settings;
}

const database = readConninfo(process.env.SHOP_DATABASE || '');
const port = Number(process.env.SHOP_PORT || 3000);

const config = {
  logger,
  apiOptions: { hostname: '127.0.0.1', port },
  dbConnectionOptions: {
    type: 'postgres',
    host: database.host,
    port: Number(database.port || 5432),
    username: database.user,
    password: database.password || '',
    database: database.dbname,
    synchronize: true,
  },
  paymentOptions: { paymentMethodHandlers: [dummyPaymentHandler] },
};

const start = {
  defaultLanguage: 'en',
  defaultZone: 'Everywhere',
  countries: [{ name: 'Ireland', code: 'IE', zone: 'Everywhere' }],
  taxRates: [{ name: 'standard', percentage: 0 }],
  shippingMethods: [{ name: 'Free', price: 0 }],
  paymentMethods: [
    { name: 'Dummy', handler: { code: dummyPaymentHandler.code, arguments: [{ name: 'automaticSettle', value: 'true' }] } },
  ],
  collections: [],
};

async function main() {
  const app = await populate(() => bootstrap(config), start, path.join(__dirname, 'products.csv'));
  console.log(`listening on http://127.0.0.1:${app.getHttpServer().address().port}`);
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
